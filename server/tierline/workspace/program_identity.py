"""The identity of a folder and a program when the user was asked about them: it must be the same
when they are used.

Between a question and its answer there may be minutes, and a path is only a name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from attrs import frozen

from tierline.workspace.reading import Signature, signature


@frozen
class ProgramIdentity:
    """A folder's identity, and the program's real path, identity, size and times."""

    folder: str
    identity: tuple[int, int] | None
    program: str = ""
    real: str = ""
    signature: Signature | None = None

    def changed(self) -> str:
        """What has changed since, in words; empty if nothing has. Blocking."""
        if _identity(self.folder) != self.identity:
            return "the folder"
        if self.program and identify(self.folder, [self.program]) != self:
            return self.program
        return ""


def identify(folder: str, command: Sequence[str] | str) -> ProgramIdentity:
    """Record the folder and, if the argument list names a file as its program, that file. A program
    on the system's search path does not belong to the workspace and is not recorded. Blocking.
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
