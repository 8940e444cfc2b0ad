"""Ignore rules against ``git check-ignore`` itself, on random trees and rules."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tierline.workspace.ignore import IgnoreRules

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is the oracle")

NAMES = ["a", "b", "foo", "bar", "x.log", "keep.log", "a b", "#h", "!k", ".env", "[id]", "ü"]
GLOBS = ["*", "**", "*.log", "?", "f*", "[ab]", "[!a]", "[a-c]", "b?r", "*o*", "\\#h", "\\!k",
         "a\\ b", "\\[id\\]", "[^x]", "[[:alpha:]]", "*.*", "a**", "**a", "f**r", "***", "*a*b*",
         "*[!a]", "[]-a]*", "[a-", "[[:nope:]]", "[b-]", "?*", "*?o*", "**\\", "[\\]a]", "\\*",
         "[--b]", "[!]", "[^]a]", "*oo"]  # fmt: skip


@st.composite
def patterns(draw: st.DrawFn) -> str:
    """One line of an ignore file, also with ``**`` inside a name: git treats ``a**/b`` in a way
    that its manual does not describe."""
    parts = draw(st.lists(st.sampled_from(NAMES + GLOBS), min_size=1, max_size=4))
    line = "/".join(parts)
    line = draw(st.sampled_from(["", "", "", "/"])) + line
    line += draw(st.sampled_from(["", "", "", "/", "/**", "\\/b", "/**\\/a", "**"]))
    line = draw(st.sampled_from(["", "", "!"])) + line
    return line + draw(st.sampled_from(["", "", "", "", " ", "  ", "\\ ", "\t", "\r"]))


paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)
rule_files = st.lists(patterns(), min_size=1, max_size=5)


def verdicts_of_git(root: Path, names: list[str]) -> dict[str, bool]:
    answer = subprocess.run(
        ["git", "-C", str(root), "check-ignore", "--no-index", "-z", "--stdin", "-v", "-n"],
        input="\0".join(names).encode(),
        capture_output=True,
        check=False,
    )
    fields = answer.stdout.decode().split("\0")
    assert len(fields) == 4 * len(names) + 1, answer.stderr
    return {
        fields[at + 3]: bool(fields[at + 2]) and not fields[at + 2].startswith("!")
        for at in range(0, 4 * len(names), 4)
    }


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
@given(
    names=st.lists(paths, min_size=3, max_size=10, unique=True),
    top=rule_files,
    nested=st.lists(rule_files, max_size=3),
    exclude=st.lists(patterns(), max_size=2),
)
@example(names=["b/a"], top=["*/", "!b"], nested=[], exclude=[])
@example(names=["foo/a", "foo/b/a"], top=["foo/**"], nested=[], exclude=[])
@example(names=["foo/a", "foo/b"], top=["foo/*", "!foo/a"], nested=[], exclude=[])
@example(names=["foo/a", "foo/b"], top=["foo", "!foo/a"], nested=[["!b"]], exclude=[])
@example(names=["a/b", "b"], top=["/**/"], nested=[], exclude=["*"])
@example(names=["a b", "a"], top=["a\\ b", "a "], nested=[], exclude=[])
def test_every_verdict_is_that_of_git(
    names: list[str], top: list[str], nested: list[list[str]], exclude: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        subprocess.run(["git", "-C", str(root), "config", "core.excludesFile", ""], check=True)
        made = []
        for name in names:
            path = root / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(exist_ok=False)
            except OSError:  # a file and a folder of one name
                continue
            made.append(name)
        (root / ".gitignore").write_bytes("\n".join(top).encode() + b"\n")
        folders = sorted({path.parent for path in (root / name for name in made)} - {root})
        for rules, where in zip(nested, folders, strict=False):
            (where / ".gitignore").write_bytes("\n".join(rules).encode() + b"\n")
        (root / ".git/info").mkdir(exist_ok=True)
        (root / ".git/info/exclude").write_bytes("\n".join(exclude).encode())
        ours = IgnoreRules(str(root), user_file="")
        assert {name: bool(ours.ignored(str(root / name))) for name in made} == verdicts_of_git(
            root, made
        )
