"""Stability policies: which bytes stay as they were sent, and where breakpoints go."""
