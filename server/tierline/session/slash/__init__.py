"""Commands that are typed into the chat."""
