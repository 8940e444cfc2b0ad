"""Git is run to read only, and nothing that a repository or the environment names runs with it."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import tierline
from tierline.workspace import changes, git
from tierline.workspace.buffers import Buffers
from tierline.workspace.ignore import IgnoreRules
from tierline.workspace.loader import Loader
from tierline.workspace.paths import Roots

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="needs git"),
    pytest.mark.skipif(sys.platform == "win32", reason="canaries are shell scripts"),
]

PROGRAMS = (
    "core.fsmonitor", "core.editor", "core.pager", "core.sshCommand", "core.askPass",
    "core.gitProxy", "core.alternateRefsCommand", "diff.external", "diff.x.textconv",
    "diff.x.command", "filter.x.clean", "filter.x.smudge", "filter.x.process",
    "gpg.program", "gpg.ssh.program", "gpg.x509.program", "gpg.ssh.defaultKeyCommand",
    "credential.helper", "sequence.editor", "interactive.diffFilter", "pager.log",
    "pager.ls-files", "pager.config", "alias.log", "alias.ls-files", "alias.config",
    "remote.origin.uploadpack", "remote.origin.receivepack", "remote.origin.proxy",
    "uploadpack.packObjectsHook", "merge.x.driver", "mergetool.x.cmd", "difftool.x.cmd",
    "browser.x.cmd", "web.browser", "help.browser", "trailer.x.cmd", "trailer.x.command",
    "init.templateDir", "submodule.sub.update", "core.worktree.unused",
)  # fmt: skip
"""Settings that name a program, or a place that git takes one from."""
OTHERS = {
    "core.repositoryformatversion": "1",
    "core.attributesFile": "attributes",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
    "remote.origin.url": "ext::sh -c '{bait}'",
    "protocol.allow": "always",
    "protocol.ext.allow": "always",
    "protocol.file.allow": "always",
    "log.showSignature": "true",
    "submodule.recurse": "true",
    "diff.submodule": "log",
    "fetch.recurseSubmodules": "true",
    "status.submoduleSummary": "true",
}
HOOKS = (
    "pre-commit", "post-checkout", "post-index-change", "fsmonitor-watchman", "pre-auto-gc",
    "reference-transaction", "post-rewrite", "query-watchman",
)  # fmt: skip
VARIABLES = (
    "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_SSH",
    "GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND", "PAGER", "EDITOR",
    "VISUAL",
)  # fmt: skip


def run(root: Path, *arguments: str) -> str:
    settings = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(root), *settings, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout


def bait_in(folder: Path, marker: Path) -> Path:
    bait = folder / "bait.sh"
    bait.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{marker}'\ncat\n")
    bait.chmod(0o755)
    return bait


@pytest.fixture
def hostile(tmp_path: Path) -> tuple[Path, Path]:
    """A repository in which everything that can name a program names the bait; and its marker."""
    root, marker = tmp_path / "root", tmp_path / "marker"
    root.mkdir()
    run(root, "init", "-q", "-b", "main")
    (root / ".gitignore").write_text("*.log\n")
    (root / "a.py").write_text("1\n")
    (root / "kept.log").write_text("1\n")
    run(root, "add", "-f", "a.py", "kept.log", ".gitignore")
    run(root, "commit", "-q", "-m", "one")
    signed = run(root, "cat-file", "commit", "HEAD").replace(
        "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n", 1
    )
    commit = subprocess.run(
        ["git", "-C", str(root), "hash-object", "-t", "commit", "-w", "--stdin"],
        input=signed.encode(),
        capture_output=True,
        check=True,
    ).stdout.decode()
    run(root, "update-ref", "HEAD", commit.strip())
    bait = bait_in(tmp_path, marker)
    for name in PROGRAMS:
        run(root, "config", name, f"!{bait}" if name.startswith("alias.") else str(bait))
    included = root / "included"
    included.write_text(f"[core]\n\tfsmonitor = {bait}\n\tpager = {bait}\n")
    for name, value in OTHERS.items():
        run(root, "-c", "core.fsmonitor=false", "config", name, value.format(bait=bait))
    run(root, "-c", "core.fsmonitor=false", "config", "include.path", str(included))
    (root / ".gitattributes").write_text("* filter=x diff=x merge=x\n")
    (root / ".git/info/attributes").write_text("* filter=x diff=x\n")
    (root / ".gitmodules").write_text(
        f'[submodule "sub"]\n\tpath = sub\n\turl = ext::{bait}\n\tupdate = !{bait}\n'
    )
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy(bait, hooks / name)
    (root / "a.py").write_text("2\n")
    marker.unlink(missing_ok=True)
    return root, marker


def test_the_canary_sings_where_git_is_run_without_care(hostile: tuple[Path, Path]) -> None:
    root, marker = hostile
    subprocess.run(["git", "-C", str(root), "status"], capture_output=True, check=False, timeout=20)
    assert marker.exists()


def test_no_program_of_a_repository_is_run(
    hostile: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, marker = hostile
    bait = marker.parent / "bait.sh"
    for name in VARIABLES:
        monkeypatch.setenv(name, str(bait))
    monkeypatch.setenv("GIT_TRACE", str(marker))
    monkeypatch.setenv("GIT_TRACE2_EVENT", str(marker))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(bait))
    assert frozenset({"a.py", "kept.log", ".gitignore"}) in git.newest(str(root))
    assert git.tracked(str(root), ["a.py", "no"]) == {"a.py"}
    rules = IgnoreRules(str(root))
    assert not rules.ignored(str(root / "kept.log")), "git was asked what is in the index"
    assert rules.ignored(str(root / "x.log"))
    assert not marker.exists(), marker.read_text()


def test_no_program_of_a_repository_is_run_when_changes_are_shown(
    hostile: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    root, marker = hostile
    care = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
    changed = run(root, *care, "hash-object", "-w", "--no-filters", "a.py").strip()
    run(root, *care, "update-index", "--cacheinfo", f"100644,{changed},a.py")
    tree = run(root, *care, "write-tree").strip()
    tip = run(root, *care, "commit-tree", "-p", "HEAD", "-m", "two", tree).strip()
    run(root, *care, "update-ref", "refs/heads/topic", tip)
    (root / "a.py").write_text("3\n")
    (root / "new.py").write_text("4\n")
    marker.unlink(missing_ok=True)
    bait = str(marker.parent / "bait.sh")
    for name in VARIABLES:
        monkeypatch.setenv(name, bait)
    monkeypatch.setenv("GIT_TRACE", str(marker))
    loader = Loader(Roots([str(root)]), Buffers(dict, dict))
    expected = {
        "changes": ("-1\n+3", "+++ b/new.py"),
        "staged": ("-1\n+2",),
        "branch:topic": ("-1\n+2", "two"),
        "topic": ("-1\n+2", "> two"),
        "HEAD": ("+++ b/a.py",),
    }
    for what, words in expected.items():
        found = changes.read(loader, what)
        assert isinstance(found, changes.ChangeSet), found
        assert all(word in found.text for word in words), found.text
        assert not marker.exists(), f"{what}: {marker.read_text()}"
    assert [subject for _, subject in changes.commits(str(root))] == ["one"]
    assert set(changes.branches(str(root))) == {"main", "topic"}
    assert not marker.exists(), marker.read_text()


def test_a_missing_object_is_not_fetched(hostile: tuple[Path, Path]) -> None:
    root, marker = hostile
    tree = run(root, "-c", "core.fsmonitor=false", "rev-parse", "HEAD^{tree}").strip()
    marker.unlink(missing_ok=True)
    (root / ".git/objects" / tree[:2] / tree[2:]).unlink()
    began = time.monotonic()
    git.newest(str(root))
    assert time.monotonic() - began < git.SECONDS
    assert not marker.exists(), marker.read_text()


def test_variables_of_the_environment_do_not_point_git_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for root in (mine, other):
        root.mkdir()
        run(root, "init", "-q")
        (root / root.name).write_text("x\n")
        run(root, "add", ".")
        run(root, "commit", "-q", "-m", "m")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(other / ".git/objects"))
    assert git.newest(str(mine)) == [{"mine"}]
    assert git.tracked(str(mine), ["mine", "other"]) == {"mine"}
    assert not [name for name in git.environment() if name.startswith("GIT_TRACE")]


def test_a_git_that_hangs_is_ended_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > '{tmp_path}/child'\nwait\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    began = time.monotonic()
    assert git.read(str(tmp_path), "log", seconds=1.0) == b""
    assert time.monotonic() - began < 10
    child = int((tmp_path / "child").read_text())
    for _ in range(50):
        if not Path(f"/proc/{child}").exists() or _state(child) == "Z":
            return
        time.sleep(0.1)
    pytest.fail("what git started is still there")


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def test_output_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec yes\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    assert len(git.read(str(tmp_path), "log", most_bytes=1000)) == 1000


@pytest.mark.parametrize("command", ["status", "diff", "checkout", "fetch", "show", "-c"])
def test_commands_that_can_run_filters_or_hooks_are_not_for_use(
    tmp_path: Path, command: str
) -> None:
    with pytest.raises(ValueError, match="only read"):
        git.read(str(tmp_path), command)


def test_git_is_run_in_one_place_only() -> None:
    """No list of arguments anywhere else begins with ``git``."""
    package = Path(tierline.__file__).parent
    found = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.List | ast.Tuple)
        and node.elts
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == "git"
        and path.name != "git.py"
    ]
    assert found == []


def test_a_diff_cut_by_its_size_in_bytes_ends_with_a_whole_character(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "init", "-q")
    (tmp_path / "signs.txt").write_text("x€🙂" * 4_000 + "\n", encoding="utf-8")
    run(tmp_path, "add", ".")
    for most in (1000, 1001, 1002, 1003):
        monkeypatch.setattr(changes, "MAX_CHARACTERS", most)
        loader = Loader(Roots([str(tmp_path)]), Buffers(dict, dict))
        found = changes.read(loader, "staged")
        assert isinstance(found, changes.ChangeSet)
        assert "\ufffd" not in found.text and "There is more" in found.text


def test_a_list_of_names_that_was_cut_has_whole_names_only() -> None:
    assert changes._names(b"a.py\0b.py\0src/lon") == ["a.py", "b.py"]


@pytest.mark.parametrize(
    "name",
    (".git/HEAD", ".git/config", ".git/info/exclude", ".gitattributes", ".gitignore", ".mailmap"),
)
def test_git_is_not_run_where_it_would_wait_for_a_pipe(tmp_path: Path, name: str) -> None:
    run(tmp_path, "init", "-q")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    began = time.monotonic()
    assert git.read(str(tmp_path), "ls-files", "--others", "--exclude-standard") == b""
    assert time.monotonic() - began < git.SECONDS / 2


def test_where_git_came_to_no_end_it_rests_and_its_end_is_not_waited_for_when_we_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho x >> '{tmp_path}/runs'\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    assert git.read(str(tmp_path), "log", seconds=0.5) == b""
    assert git.read(str(tmp_path), "log") == b"", "at once"
    assert (tmp_path / "runs").read_text() == "x\n"
    other = tmp_path / "other"
    other.mkdir()
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(git.read, str(other), "log", seconds=60.0)
        while (tmp_path / "runs").read_text() != "x\nx\n":
            time.sleep(0.01)
        git.end_all()
        assert reading.result(timeout=30) == b""


def test_a_repository_does_not_point_git_to_another_work_tree(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root, outside):
        folder.mkdir()
        (folder / f"{folder.name}.txt").write_text("x\n")
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("x\n")
    run(root, "init", "-q")
    run(root, "config", "core.worktree", str(outside))
    others = ("ls-files", "--others", "--exclude-standard", "-z")
    assert git.read(str(root), *others) == b"root.txt\0sub/a.txt\0"
    assert git.read(str(root / "sub"), *others) == b"a.txt\0"


def test_thousands_of_changed_files_are_not_all_compared(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q")
    for number in range(changes.MAX_FILES + 100):
        (tmp_path / f"f{number:04}.txt").write_text("x\n")
    found = changes.read(Loader(Roots([str(tmp_path)]), Buffers(dict, dict)), "changes")
    assert isinstance(found, changes.ChangeSet)
    assert found.detail == f"more than {changes.MAX_FILES} files"
    assert "There is more" in found.text
