"""What git says of files, and what it must not run while it says so."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tierline.context.items import Section
from tierline.context.tiers.hazard import HALF_LIFE, PRIORS, WEIGHT, churn
from tierline.workspace import git as commits
from tierline.workspace.ignore import repository

PRIOR = PRIORS[Section.FILES]


def git(root: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(root), *settings, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "m")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, sub__a="1", b="1")
    commit(tmp_path, sub__a="2")
    commit(tmp_path, **{"ü\nname": "1"})
    return tmp_path


def test_the_newest_commits_come_first_and_names_are_as_they_are(repo: Path) -> None:
    assert commits.newest(str(repo)) == [{"ü\nname"}, {"sub/a"}, {"sub/a", "b"}]
    assert commits.newest(str(repo / "sub")) == [frozenset(), {"a"}, {"a"}]
    assert commits.tracked(str(repo), ["b", "sub/a", "no", "*"]) == {"b", "sub/a"}
    assert commits.newest(str(repo.parent)) == []


def test_what_is_read_is_bounded(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "MAX_COMMITS", 2)
    assert len(commits.newest(str(repo))) == 2
    monkeypatch.setattr(commits, "MAX_BYTES", 16)
    assert commits.newest(str(repo)) == [{"ü\nname"}], "a commit that is cut does not count"


def test_the_state_changes_with_commits_and_checkouts(repo: Path) -> None:
    found = repository(str(repo))
    states = [commits.head_state(found.git, found.common)]
    commit(repo, b="2")
    states.append(commits.head_state(found.git, found.common))
    git(repo, "checkout", "-q", "-b", "other")
    states.append(commits.head_state(found.git, found.common))
    assert len(set(states)) == 3
    assert states[-1] == commits.head_state(found.git, found.common)


def test_nothing_that_the_repository_names_is_run(repo: Path, tmp_path: Path) -> None:
    """A signed commit, and programs for signatures, monitors and remotes in the configuration."""
    marker = tmp_path.parent / "marker"
    bait = repo / "bait.sh"
    bait.write_text(f"#!/bin/sh\necho ran >> '{marker}'\n")
    bait.chmod(0o755)
    raw = git(repo, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    signed = subprocess.run(
        ["git", "-C", str(repo), "hash-object", "-t", "commit", "-w", "--stdin"],
        input=raw, text=True, capture_output=True, check=True,
    ).stdout.strip()  # fmt: skip
    git(repo, "update-ref", "HEAD", signed)
    for name, value in {
        "log.showSignature": "true", "gpg.program": str(bait), "core.fsmonitor": str(bait),
        "core.pager": str(bait), "core.sshCommand": str(bait), "diff.external": str(bait),
        "remote.origin.url": "ssh://example.org/x", "remote.origin.promisor": "true",
        "core.hooksPath": str(repo),
    }.items():  # fmt: skip
        git(repo, "config", name, value)
    subprocess.run(["git", "-C", str(repo), "log"], capture_output=True, check=False)
    assert marker.exists(), "the bait works"
    marker.unlink()
    assert commits.newest(str(repo))[0] == {"ü\nname"}
    # An object that is missing would be fetched from the remote.
    tree = git(repo, "rev-parse", "HEAD^{tree}").strip()
    (repo / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    commits.newest(str(repo))
    commits.tracked(str(repo), ["b"])
    assert not marker.exists()


def test_churn_is_a_share_of_recent_commits_beside_the_prior() -> None:
    nothing = churn([], ["a"])
    assert nothing == {"a": PRIOR}
    always = churn([{"a"}] * 400, ["a", "b"])
    assert always["a"] > 0.9 and always["b"] < 0.02
    assert abs(churn([{"a"}], ["a"])["a"] - (1 + WEIGHT * PRIOR) / (1 + WEIGHT)) < 1e-12
    early = [frozenset[str]()] * round(HALF_LIFE)
    late = churn([{"x"}, *early, {"y"}], ["x", "y"])
    assert late["x"] > late["y"] > churn([{"x"}, *early], ["z"])["z"]
    assert all(0 <= value <= 1 for value in {**always, **late}.values())
