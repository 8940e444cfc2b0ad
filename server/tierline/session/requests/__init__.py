"""From everything that could be sent to one request that fits, and its plan."""
