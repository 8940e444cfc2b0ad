"""Compaction: the older part of a long conversation becomes a summary, beside the turns."""
