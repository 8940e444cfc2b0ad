"""The provider's prompt cache: explained, kept alive, accounted for."""
