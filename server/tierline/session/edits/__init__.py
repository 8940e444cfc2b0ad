"""Proposed edits: kept, decided by the user, checked, applied."""
