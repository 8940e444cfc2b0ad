"""The application layer: one Session per workspace; runs turns and publishes events."""
