"""Names of git's folder and ours, in every spelling that some file system maps to them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from tierline.folder import FOLDER

Owner: TypeAlias = Literal["", "git", "tierline"]

_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""Characters that HFS+ leaves out of names (git's ``core.protectHFS`` lists them)."""
_SHORT = re.compile(r"(?:git|(?P<ours>tierli))~\d{1,4}")
"""Short names of NTFS (git's ``core.protectNTFS``)."""


@lru_cache(maxsize=4096)
def reserved(name: str) -> Owner:
    """Which reserved folder (git's or ours) a path's component names: regardless of case, streams
    (``.git::$INDEX_ALLOCATION``), dots and blanks at the end, short names and invisible characters.
    Git refuses to track such names, so no file of the user has one.
    """
    if len(name) < 4 or not ("." in name or "~" in name):
        return ""
    bare = _IGNORED.sub("", name).partition(":")[0].rstrip(". ").casefold()
    if bare in (".git", FOLDER):
        return "git" if bare == ".git" else "tierline"
    short = _SHORT.fullmatch(bare)
    return "" if short is None else "tierline" if short["ours"] else "git"
