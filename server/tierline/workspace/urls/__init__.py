"""Web pages as context: the check of addresses, fetching, extracting the text, the cache."""
