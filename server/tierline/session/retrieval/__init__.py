"""What Tierline finds by itself: symbols, cards, capsules, turns by meaning."""
