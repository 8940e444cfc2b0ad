"""Stability policies: which bytes stay as they were sent, and where breakpoints go.

``base`` says what a policy is; ``log_structured`` (the default), ``counter`` and ``fixed`` are the
three there are. docs/tiers.md explains them and measures them.
"""
