"""Texts that are sent to models: a file each, sent byte for byte but for the last newline.

A change here changes what every later request begins with, and what providers have cached of it.
"""

from __future__ import annotations

from functools import cache
from importlib import resources


@cache
def read(name: str) -> str:
    """The text of ``<name>.txt``; ``{words}`` and the like are filled in by its reader."""
    return resources.files(__name__).joinpath(f"{name}.txt").read_text("utf-8").removesuffix("\n")
