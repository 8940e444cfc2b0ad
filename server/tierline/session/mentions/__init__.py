"""What a prompt names with ``@``: found, measured, asked about, and taken along."""
