"""Extensions that tests bring along: folders here named ``<name>-extension``, publisher acme."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import workbench as server

VSCE = Path(__file__).resolve().parents[2] / "vscode-client" / "node_modules" / ".bin" / "vsce"


def bring(name: str, installed: tuple[Path, Path], folder: Path) -> None:
    """Package one into ``folder`` and install it."""
    vsix = folder / f"{name}.vsix"
    subprocess.run(
        [VSCE, "package", "--no-dependencies", "--allow-missing-repository", "--skip-license",
         "-o", vsix],
        cwd=Path(__file__).with_name(f"{name}-extension"), check=True, capture_output=True,
    )  # fmt: skip
    server.install_extension(vsix, *installed)


@contextmanager
def brought_along(name: str, installed: tuple[Path, Path], folder: Path) -> Iterator[None]:
    """Have one installed meanwhile."""
    bring(name, installed, folder)
    yield
    server.uninstall_extension(f"acme.{name}", *installed)
