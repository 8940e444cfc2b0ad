"""What is installed is what was reviewed: pinned by hash, of known licences, without surprises.

An audit against lists of known vulnerabilities needs a service that not every registry has: that is
``make audit``. These checks need nothing but the repository and what is installed.
"""

from __future__ import annotations

import json
import re
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any

from audit import EX_TEMPFAIL, exit_status, npm_says, python_says

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "vscode-client"
PERMISSIVE = {
    "MIT", "MIT-0", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "BlueOak-1.0.0",
    "Python-2.0", "PSF-2.0", "MPL-2.0", "CC0-1.0", "CC-BY-4.0", "CC-BY-3.0", "Artistic-2.0",
    "WTFPL", "Unlicense",
}  # fmt: skip
OF_THEIR_OWN = ("node_modules/@vscode/vsce-sign",)
"""Microsoft's signing tool: a part of vsce, for packaging only, never shipped."""
MAY_RUN_ON_INSTALL = {
    "node_modules/@vscode/vsce-sign",
    "node_modules/esbuild",
    "node_modules/keytar",
}
WEAK_COPYLEFT = {"chardet"}
"""LGPL: installed beside us as it is, neither changed nor shipped."""
WORDS = re.compile(r"MIT|BSD|Apache|ISC|MPL|Mozilla Public|PSF|Python Software|Unlicense|CC0", re.I)


def lock() -> dict[str, Any]:
    value: dict[str, Any] = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))
    return {name: entry for name, entry in value["packages"].items() if name}


def licences(said: str) -> set[str]:
    return set(re.findall(r"[A-Za-z0-9.-]+", said)) - {"OR", "AND", "WITH"}


def test_every_node_package_is_pinned_by_a_strong_hash() -> None:
    packages = lock()
    assert len(packages) > 100
    weak = [n for n, e in packages.items() if not e.get("integrity", "").startswith("sha512-")]
    assert weak == []


def test_the_lock_names_no_host() -> None:
    """It works with any registry, and nobody's address is in the repository."""
    assert [name for name, entry in lock().items() if "resolved" in entry] == []


def test_the_lock_is_that_of_the_manifest() -> None:
    manifest = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    root = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))["packages"][""]
    for kind in ("dependencies", "devDependencies"):
        assert manifest.get(kind, {}) == root.get(kind, {})


def test_every_node_package_has_a_licence_that_allows_what_we_do() -> None:
    wrong = {
        name: entry.get("license")
        for name, entry in lock().items()
        if not licences(entry.get("license", "")) & PERMISSIVE and not name.startswith(OF_THEIR_OWN)
    }
    assert wrong == {}


def test_no_new_package_runs_a_script_on_installation() -> None:
    found = {name for name, entry in lock().items() if entry.get("hasInstallScript")}
    assert found <= MAY_RUN_ON_INSTALL


def closure(names: list[str]) -> dict[str, metadata.Distribution]:
    """What these requirements bring with them, as far as it is installed."""
    found: dict[str, metadata.Distribution] = {}
    waiting = list(names)
    while waiting:
        asked = waiting.pop()
        name = re.split(r"[\s\[<>=!~;(]", asked, maxsplit=1)[0].lower().replace("_", "-")
        if name in found or "extra ==" in asked:
            continue
        try:
            found[name] = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # for another system or Python
        waiting += found[name].requires or []
    return found


def project() -> dict[str, Any]:
    value: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return value


def runtime() -> list[str]:
    declared = project()["project"]
    extras = declared["optional-dependencies"].values()
    return [*declared["dependencies"], *(one for some in extras for one in some)]


def test_every_python_package_that_runs_has_a_licence_that_allows_what_we_do() -> None:
    packages = closure(runtime())
    assert {"pygls", "httpcore", "anthropic"} & packages.keys(), "what they bring is looked at too"
    unclear = {}
    for name, package in packages.items():
        if name in WEAK_COPYLEFT:
            continue
        about = package.metadata.json
        said = [str(about.get(key, ""))[:200] for key in ("license_expression", "license")]
        said += [c for c in about.get("classifier", []) if c.startswith("License ::")]
        if not "".join(said):  # some ship the text alone
            texts = [f for f in package.files or () if f.parent.name == "licenses"]
            said = [" ".join(f.read_text().split())[:80] for f in texts]
        if not WORDS.search(" ".join(said)) or re.search(r"\b[AL]?GPL", " ".join(said)):
            unclear[name] = " ".join(said)[:80]
    assert unclear == {}


def test_every_requirement_has_a_lower_bound_and_is_explained() -> None:
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for asked in [*runtime(), *project()["dependency-groups"]["dev"]]:
        name = re.split(r"[\[<>=!~]", asked, maxsplit=1)[0]
        assert ">=" in asked or "==" in asked, asked
        if not name.startswith("tree-sitter-"):
            assert name in page, f"{name} is not explained in docs/dependencies.md"


def test_what_is_bundled_with_the_extension_is_named() -> None:
    manifest = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    page = (CLIENT / "THIRD_PARTY.md").read_text(encoding="utf-8").lower()
    shipped = set(manifest.get("dependencies", {}))
    source = "\n".join(path.read_text(encoding="utf-8") for path in (CLIENT / "src").rglob("*.ts*"))
    imported = set(re.findall(r"from '((?:@[\w-]+/)?[\w.-]+)(?:/[^']*)?'", source))
    known = shipped | set(manifest["devDependencies"])
    for name in sorted(imported & known - {"vscode"}):
        assert name.lower() in page or name.split("/")[0].lower() in page, f"{name} is not named"


def test_an_audit_that_could_not_be_made_is_not_a_good_one() -> None:
    refused = json.dumps({"message": "405 Method Not Allowed", "error": {"code": "ENOAUDIT"}})
    assert npm_says(refused) == (
        False, "The npm registry here does not answer audits: nothing was checked.",
    )  # fmt: skip
    assert not npm_says("")[0]
    counts = {"low": 0, "high": 0, "total": 0}
    about = {"vulnerabilities": counts, "dependencies": {"total": 488}}
    assert npm_says(json.dumps({"metadata": about}))[0]
    about["vulnerabilities"] = {"low": 0, "high": 1, "total": 1}
    well, said = npm_says(json.dumps({"metadata": about, "vulnerabilities": {"left-pad": {}}}))
    assert not well and "left-pad" in said
    assert not python_says("no JSON", 3)[0]
    skipped = [{"name": f"p{i}", "skip_reason": "not found"} for i in range(3)]
    assert "nothing was checked" in python_says(json.dumps({"dependencies": skipped}), 3)[1]
    fine = [{"name": "p", "version": "1", "vulns": []}]
    assert python_says(json.dumps({"dependencies": fine}), 1)[0]
    bad = [{"name": "p", "version": "1", "vulns": [{"id": "X-1"}]}]
    assert python_says(json.dumps({"dependencies": bad}), 1) == (
        False, "Python: known vulnerabilities in p 1",
    )  # fmt: skip


def test_a_missing_service_is_skipped_only_where_that_is_allowed_and_never_hides_a_find() -> None:
    fine, missing = (True, "npm: no known vulnerability in 3"), npm_says("")
    found = python_says(
        json.dumps({"dependencies": [{"name": "p", "version": "1", "vulns": [1]}]}), 1
    )
    assert exit_status([fine, fine], where_offered=True) == 0
    assert exit_status([fine, missing], where_offered=False) == 1
    assert exit_status([fine, missing], where_offered=True) == EX_TEMPFAIL
    assert exit_status([missing, found], where_offered=True) == 1


def test_every_test_and_file_that_the_security_page_names_exists() -> None:
    page = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/.-]+/[\w.-]+\.(?:py|ts|tsx))`", page))
    assert len(named) > 20
    places = [ROOT, ROOT / "tests", ROOT / "server" / "tierline", CLIENT / "src"]
    places += [CLIENT / "src" / "extension", CLIENT / "test"]
    missing = [name for name in sorted(named) if not any((p / name).is_file() for p in places)]
    assert missing == []
    files = (ROOT / "tests").rglob("test_*.py")
    everything = "\n".join(path.read_text(encoding="utf-8") for path in files)
    tests = re.findall(r"`(test_\w+)`", page)
    assert [name for name in tests if f"def {name}(" not in everything] == []
