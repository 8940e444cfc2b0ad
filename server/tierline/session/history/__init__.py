"""The history as clients see and change it."""
