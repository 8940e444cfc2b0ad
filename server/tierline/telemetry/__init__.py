"""Usage reports, metrics and traces; nothing leaves the machine."""
