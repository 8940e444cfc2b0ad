"""What is kept of a long conversation: levels, compaction, STATE, memos, scratchpad."""
