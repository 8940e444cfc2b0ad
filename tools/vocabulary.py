"""Builds the tokenizer vocabularies that ship with the package, from the npm registry.

tiktoken downloads its vocabularies at run time, from a host that many networks do not reach. The
same ranks are in the npm package ``tiktoken``; this script writes them in tiktoken's own file
format and checks each file against the sha256 that the Python package lists for it. The files are
build products: they are part of the wheel, not of the repository.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

NPM_PACKAGE = "tiktoken@1.0.22"
ENCODINGS = ("o200k_base", "cl100k_base")
TARGET = Path(__file__).resolve().parents[1] / "server" / "tierline" / "data" / "vocabulary"


def expected_hash(encoding: str) -> str:
    """The sha256 that the installed tiktoken expects of an encoding's file."""
    openai_public = importlib.import_module("tiktoken_ext.openai_public")

    source = inspect.getsource(getattr(openai_public, encoding))
    found = re.search(r'expected_hash="([0-9a-f]{64})"', source)
    if found is None:
        raise SystemExit(f"tiktoken lists no hash for {encoding}; see tools/vocabulary.py.")
    return found.group(1)


def to_tiktoken_format(compact: str) -> bytes:
    """``! first_rank token token …`` lines become one ``token rank`` line per token."""
    ranks: list[tuple[int, str]] = []
    for line in compact.splitlines():
        if not line:
            continue
        _mark, first, *tokens = line.split(" ")
        ranks += [(int(first) + place, token) for place, token in enumerate(tokens)]
    return "".join(f"{token} {rank}\n" for rank, token in sorted(ranks)).encode("ascii")


def missing() -> list[str]:
    """Encodings whose file is absent or not what tiktoken expects."""
    return [
        name
        for name in ENCODINGS
        if not (path := TARGET / f"{name}.tiktoken").exists()
        or hashlib.sha256(path.read_bytes()).hexdigest() != expected_hash(name)
    ]


def main() -> int:
    """Build what is missing. Returns the exit status."""
    wanted = missing()
    if not wanted:
        return 0
    npm = shutil.which("npm")
    if npm is None:
        print("npm is needed to build the tokenizer vocabularies: install Node.js 20 or newer.")
        return 1
    print(f"Fetching {NPM_PACKAGE} (10 MB) for the tokenizer vocabularies …", flush=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            [npm, "pack", NPM_PACKAGE, "--silent"],
            cwd=folder, check=False, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        if packed.returncode:
            print(f"npm could not fetch {NPM_PACKAGE}; check the connection and try again.")
            return 1
        with tarfile.open(Path(folder) / packed.stdout.strip().splitlines()[-1]) as archive:
            for name in wanted:
                member = archive.extractfile(f"package/encoders/{name}.json")
                assert member is not None
                data = to_tiktoken_format(json.load(member)["bpe_ranks"])
                if hashlib.sha256(data).hexdigest() != expected_hash(name):
                    print(f"{name}: the hash is not the one that tiktoken expects; not installed.")
                    return 1
                partial = TARGET / f"{name}.partial"
                partial.write_bytes(data)
                partial.replace(TARGET / f"{name}.tiktoken")
                print(f"  {name}: {len(data):,} bytes, sha256 as tiktoken expects", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
