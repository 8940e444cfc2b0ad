"""``make audit``: known vulnerabilities of what is installed, by npm's and PyPI's own services.

Many mirrors do not offer these services. That is said, and counts as a failure: an audit that could
not be made must not look like one that found nothing.
"""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def npm() -> tuple[bool, str]:
    """(all is well, what is to be said) about the packages of the lock file."""
    try:
        answer = subprocess.run(
            ["npm", "audit", "--json"], cwd=ROOT / "vscode-client", check=False,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return npm_says(answer.stdout)
    except (OSError, subprocess.SubprocessError) as error:
        return False, f"npm audit could not be run: {error}"


def npm_says(text: str) -> tuple[bool, str]:
    """Reads npm's report."""
    try:
        found = json.loads(text)
        counts = found["metadata"]["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        return False, "The npm registry here does not answer audits: nothing was checked."
    bad = {name: count for name, count in counts.items() if count and name != "total"}
    packages = ", ".join(sorted(found.get("vulnerabilities", {})))
    if bad:
        return False, f"npm: {bad}: {packages}"
    return True, f"npm: no known vulnerability in {found['metadata']['dependencies']['total']}"


def python() -> tuple[bool, str]:
    """The same about the installed distributions, by pip-audit (installed for this alone)."""
    lines = sorted(
        f"{one.metadata['Name']}=={one.version}" for one in importlib.metadata.distributions()
        if one.metadata["Name"] != "tierline"
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "requirements.txt"
        asked.write_text("\n".join(lines), encoding="utf-8")
        tool = Path(folder) / "venv"
        try:
            subprocess.run([sys.executable, "-m", "venv", str(tool)], check=True)
            pip = [str(tool / "bin" / "python"), "-m", "pip", "install", "-q", "pip-audit"]
            subprocess.run(pip, check=True, capture_output=True)
            answer = subprocess.run(
                [str(tool / "bin" / "pip-audit"), "--no-deps", "--disable-pip", "-f", "json",
                 "-r", str(asked)],
                check=False, capture_output=True, text=True, timeout=600,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return False, f"pip-audit could not be run: {error}"
    return python_says(answer.stdout, len(lines))


def python_says(text: str, asked: int) -> tuple[bool, str]:
    """Reads pip-audit's report."""
    try:
        found = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return False, "pip-audit gave no report: nothing was checked."
    bad = [f"{one['name']} {one['version']}" for one in found if one.get("vulns")]
    skipped = [one for one in found if "skip_reason" in one]
    if bad:
        return False, f"Python: known vulnerabilities in {', '.join(bad)}"
    if len(skipped) * 2 > asked:
        return False, "The Python registry here does not answer audits: nothing was checked."
    return True, f"Python: no known vulnerability in {asked - len(skipped)} of {asked}"


def main() -> int:
    """Ask both and say what they said. Returns the exit status."""
    results = [npm(), python()]
    for well, said in results:
        print(f"{'ok  ' if well else 'FAIL'} {said}")
    return 0 if all(well for well, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
