"""What lay at a path when the user was asked about it: it must be the same when it is used.

Between a question and its answer there may be minutes, and a path is only a name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from attrs import frozen

from tierline.workspace.reading import Signature, signature


@frozen
class ProgramIdentity:
    """A folder by its identity; the program in it by its real path, identity, size and times."""

    folder: str
    identity: tuple[int, int] | None
    program: str = ""
    real: str = ""
    signature: Signature | None = None

    def changed(self) -> str:
        """What is another now, in words; empty if nothing is. Blocking."""
        if _identity(self.folder) != self.identity:
            return "the folder"
        if self.program and look(self.folder, [self.program]) != self:
            return self.program
        return ""


def look(folder: str, command: Sequence[str] | str) -> ProgramIdentity:
    """Take down the folder and, if an argument list names a file as its program, that file; what is
    found on the system's search path is not a workspace's. Blocking.
    """
    program = "" if isinstance(command, str) or not command else command[0]
    if os.path.dirname(program) == "":
        return ProgramIdentity(folder, _identity(folder))
    real = os.path.realpath(os.path.join(folder, program))
    return ProgramIdentity(folder, _identity(folder), program, real, signature(real))


def _identity(folder: str) -> tuple[int, int] | None:
    try:
        found = os.stat(folder)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino)
