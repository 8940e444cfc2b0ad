"""The LSP edge: parses requests, calls the session, answers. It makes no decisions."""
