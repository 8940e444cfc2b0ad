"""Web pages as context: which addresses may be read, reading them, their text, the cache."""
