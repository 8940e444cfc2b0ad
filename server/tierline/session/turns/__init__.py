"""Turns: a prompt goes in, a reply streams out, tools run between."""
