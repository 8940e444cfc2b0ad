"""What the workspace offers without being asked: maps, cards, ranks, leases. Pure."""
