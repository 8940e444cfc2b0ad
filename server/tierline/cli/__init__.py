"""The command line: a module for each group of commands, ``main`` for the table of all."""
