"""The model's tools: which are offered, what they do, what waits for consent."""
