"""From all candidates to one request that fits, and its plan."""
