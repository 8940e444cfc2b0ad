"""The protocol edge: parses, calls the session, answers. It decides nothing."""
