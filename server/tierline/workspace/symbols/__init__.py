"""The symbol index: definitions, references and imports of the workspace, in its own process."""
