"""``make audit``: known vulnerabilities of what is installed, by npm's and PyPI's own services.

Many mirrors do not offer these services. That is said, and counts as a failure: an audit that could
not be made must not look like one that found nothing. With ``--where-offered``, as ``make test``
asks, it ends with 75 (EX_TEMPFAIL), which counts as skipped.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
UNCHECKED = "nothing was checked"
EX_TEMPFAIL = 75


def npm() -> tuple[bool, str]:
    """(all is well, what is to be said) about the packages of the lock file."""
    try:
        answer = subprocess.run(
            ["npm", "audit", "--json"], cwd=ROOT / "vscode-client", check=False,
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        return npm_says(answer.stdout)
    except (OSError, subprocess.SubprocessError) as error:
        return False, f"npm audit could not be run, {UNCHECKED}: {error}"


def npm_says(text: str) -> tuple[bool, str]:
    """Reads npm's report."""
    try:
        found = json.loads(text)
        counts = found["metadata"]["vulnerabilities"]
    except (ValueError, KeyError, TypeError):
        return False, f"The npm registry here does not answer audits: {UNCHECKED}."
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
            return False, f"pip-audit could not be run, {UNCHECKED}: {error}"
    return python_says(answer.stdout, len(lines))


def python_says(text: str, asked: int) -> tuple[bool, str]:
    """Reads pip-audit's report."""
    try:
        found = json.loads(text)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return False, f"pip-audit gave no report: {UNCHECKED}."
    bad = [f"{one['name']} {one['version']}" for one in found if one.get("vulns")]
    skipped = [one for one in found if "skip_reason" in one]
    if bad:
        return False, f"Python: known vulnerabilities in {', '.join(bad)}"
    if len(skipped) * 2 > asked:
        return False, f"The Python registry here does not answer audits: {UNCHECKED}."
    return True, f"Python: no known vulnerability in {asked - len(skipped)} of {asked}"


def exit_status(results: list[tuple[bool, str]], *, where_offered: bool) -> int:
    """0 if both found nothing, 1 if one found something or (unless allowed) could not look."""
    bad = [said for well, said in results if not well]
    if where_offered and bad and all(UNCHECKED in said for said in bad):
        return EX_TEMPFAIL
    return 1 if bad else 0


def main() -> int:
    """Ask both and say what they said. Returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--where-offered", action="store_true", help="75 if a service is missing")
    arguments = parser.parse_args()
    results = [npm(), python()]
    for well, said in results:
        print(f"{'ok  ' if well else '--  ' if UNCHECKED in said else 'FAIL'} {said}")
    return exit_status(results, where_offered=arguments.where_offered)


if __name__ == "__main__":
    sys.exit(main())
