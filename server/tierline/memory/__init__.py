"""Pure domain: memory levels, summaries and memos."""
