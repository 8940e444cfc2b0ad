"""Pure domain: messages, groups, selection, truncation, isolation, STATE, branches."""
