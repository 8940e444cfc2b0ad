"""What a prompt mentions with ``@``: found, measured, confirmed, and added."""
