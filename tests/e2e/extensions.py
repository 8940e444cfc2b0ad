"""Extensions that tests bring along: folders here named ``<name>-extension``, publisher acme."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import workbench as server

VSCE = Path(__file__).resolve().parents[2] / "vscode-client" / "node_modules" / ".bin" / "vsce"


@contextmanager
def brought_along(name: str, installed: tuple[Path, Path], folder: Path) -> Iterator[None]:
    """Package one into ``folder`` and have it installed meanwhile."""
    vsix = folder / f"{name}.vsix"
    subprocess.run(
        [VSCE, "package", "--no-dependencies", "--allow-missing-repository", "--skip-license",
         "-o", vsix],
        cwd=Path(__file__).with_name(f"{name}-extension"), check=True, capture_output=True,
    )  # fmt: skip
    user_data, extensions = installed
    server.install_extension(vsix, user_data, extensions)
    yield
    server.uninstall_extension(f"acme.{name}", user_data, extensions)
