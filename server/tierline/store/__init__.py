"""Persistence: the append-only log (the truth) and the SQLite index (rebuildable)."""
