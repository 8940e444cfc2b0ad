"""Mutation testing of the packages that hold people's text: ``make mutants``."""
