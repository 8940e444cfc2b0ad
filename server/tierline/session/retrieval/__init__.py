"""Automatic context: symbols, cards, capsules, turns by meaning."""
