"""What the model may call."""
