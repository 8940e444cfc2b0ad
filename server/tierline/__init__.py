"""Tierline: a language server that decides what a language model sees."""

__version__ = "0.1.0"
