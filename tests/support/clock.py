"""A clock that a test sets forward or back in the servers that it starts."""

from __future__ import annotations

from pathlib import Path

from attrs import define, field

from lsp.pipe import hook

_CODE = """
    import sys, time
    if "serve" in sys.orig_argv:
        def told(real=time.time):
            try:
                with open({place!r}, encoding="ascii") as file:
                    return real() + float(file.read() or 0)
            except (OSError, ValueError):
                return real()
        time.time = told
"""


@define
class Clock:
    """Servers read how far it is off from a file, so it may be set while they run."""

    folder: Path
    """Of its own, not there yet."""
    env: dict[str, str] = field(init=False)
    """What a server's environment needs for it."""

    def __attrs_post_init__(self) -> None:
        self.env = hook(self.folder, _CODE.format(place=str(self._place)))

    @property
    def _place(self) -> Path:
        return self.folder / "seconds"

    @property
    def off(self) -> float:
        """Seconds that it is ahead of the real one."""
        return float(self._place.read_text(encoding="ascii")) if self._place.exists() else 0.0

    @off.setter
    def off(self, seconds: float) -> None:
        self._place.write_text(str(seconds), encoding="ascii")
