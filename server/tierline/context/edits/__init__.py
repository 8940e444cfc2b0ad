"""Edits that a model proposes: found in the text as it is now, or refused with the reason."""
