"""The stability tiers in words for the user."""

from __future__ import annotations

TIER_WORDS = {
    "head": "system prompt and tools",
    "L0": "changes least",
    "L1": "changes rarely",
    "L2": "changes sometimes",
    "L3": "settling",
    "active": "changes often, sent anew each time",
    "log": "in the conversation",
    "tail": "this prompt alone",
}
"""What each tier holds, in words."""
