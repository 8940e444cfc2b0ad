"""What the user put into the context: files, pins, web pages."""
