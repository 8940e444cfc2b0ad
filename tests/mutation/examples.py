"""How property tests run here: the same examples each time, and no clock."""

from __future__ import annotations

import hypothesis


def settle() -> None:
    """Draw the same examples each time, never those that failed for another fault, and let a
    machine that is busy make no test fail. Before the tests are imported.
    """
    hypothesis.settings.register_profile(
        "mutation", derandomize=True, database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    hypothesis.settings.load_profile("mutation")
