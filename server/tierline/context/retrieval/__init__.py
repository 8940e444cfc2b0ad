"""Automatic context from the workspace: maps, cards, ranks, leases. Pure."""
