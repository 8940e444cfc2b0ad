"""Area I, with BR-038: paths, URIs and workspace folders."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from bugcases.fixtures import build, case, expect
from support.filelists import sent
from tierline.context.files import FileContext
from tierline.context.refusals import Reason, Refusal
from tierline.workspace.flavour import POSIX, WINDOWS, Flavour
from tierline.workspace.loader import LoadedFile, Loader
from tierline.workspace.mentions import mentions
from tierline.workspace.paths import ResolvedPath, Roots


def loader_of(*roots: Path) -> Loader:
    return Loader(Roots([str(root) for root in roots]), git_excludes="")


def loaded(loader: Loader, reference: str) -> LoadedFile:
    found = loader.load(reference)
    assert isinstance(found, LoadedFile), found
    return found


def listed(loader: Loader, *references: str) -> FileContext:
    files = FileContext()
    for reference in references:
        found = loaded(loader, reference)
        files.put(found.key, found.content, **found.listing)
    return files


def test_br_038_a_link_and_its_target_are_one_entry_that_shows_the_alias(tmp_path: Path) -> None:
    root = build("BR-038", tmp_path)
    absolute = root / "CLAUDE.md"
    files = listed(
        loader_of(root),
        *("CLAUDE.md", "AGENTS.md", "./AGENTS.md", str(root / "AGENTS.md"), absolute.as_uri()),
    )
    assert files.get_files() == ["AGENTS.md"]
    assert files.entries()[0].aliases == ("CLAUDE.md",)
    copies = sent(files).count("RULE: one copy only")
    assert copies == expect("BR-038")["copies_in_body"]
    assert files.has_file("CLAUDE.md")
    assert files.remove_file("CLAUDE.md")
    assert not files.get_files()


def windows_roots(*folders: str) -> Roots:
    """Windows rules on any machine: no links, nothing exists."""
    return Roots(folders, flavour=WINDOWS, realpath=lambda path: path)


def test_br_108_all_spellings_of_a_uri_are_one_key() -> None:
    pairs = json.loads((case("BR-108") / "uri_pairs.json").read_text())
    assert len(pairs) == 5
    for first, second in pairs:
        if first.startswith("file:///w"):
            roots = Roots(["/w"], flavour=POSIX, realpath=lambda path: path)
        else:
            roots = windows_roots("file:///C:/", "file:///d%3A/", "file://Server/share")
        places = [roots.resolve(uri) for uri in (first, second)]
        assert all(isinstance(place, ResolvedPath) for place in places), (first, second)
        keys = {place.key for place in places if isinstance(place, ResolvedPath)}
        assert len(keys) == 1, (first, second)


@pytest.mark.parametrize(
    ("reference", "key"),
    [
        (r"c:\Users\sam\x.py", "x.py"),
        (r"C:\Users\sam\x.py", "x.py"),
        ("C:/Users/Sam/x.py", "x.py"),
        (r"\\?\C:\Users\sam\x.py", "x.py"),
        (r"sub\y.py", "sub/y.py"),
        (r".\sub\..\x.py", "x.py"),
        ("file:///C%3A/Users/sam/My%20Docs/a%23b.py", "My Docs/a#b.py"),
    ],
)
def test_windows_spellings_reach_one_key(reference: str, key: str) -> None:
    place = windows_roots(r"C:\Users\sam").resolve(reference)
    assert isinstance(place, ResolvedPath)
    assert place.key == key


@pytest.mark.parametrize(
    "reference",
    [
        r"..\app-secrets\k.txt",
        r"sub\..\..\app-secrets\k.txt",
        r"C:\w\app-secrets\k.txt",
        r"D:\w\app\main.py",
        r"\w\other\x",
        r"\\server\share\w\app\x",
        "file:///c:/w/app-secrets/k.txt",
    ],
)
def test_windows_references_that_leave_the_root_are_refused(reference: str) -> None:
    refusal = windows_roots(r"C:\w\app").resolve(reference)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.OUTSIDE_WORKSPACE


@pytest.mark.parametrize("reference", [r"C:\w\app\.env::$DATA", r"x.py:stream", "a\0b"])
def test_windows_streams_and_nul_are_no_file_names(reference: str) -> None:
    refusal = windows_roots(r"C:\w\app").resolve(reference)
    assert isinstance(refusal, Refusal)
    assert refusal.reason is Reason.INVALID_PATH


def test_windows_ignores_dots_and_blanks_at_the_end_so_they_hide_no_secret() -> None:
    place = windows_roots(r"C:\w\app").resolve(".env. ")
    assert isinstance(place, ResolvedPath)
    assert place.key == ".env"


def test_br_110_a_path_with_blanks_is_whole_by_command_mention_and_uri(tmp_path: Path) -> None:
    root = build("BR-110", tmp_path)
    wanted = expect("BR-110")
    loader = loader_of(root)
    named = [mention.path for text in wanted["mentions"] for mention in mentions(text)]
    assert named == ["My Docs/a file.md"] * 2
    for reference in (*named, "My Docs/a file.md", (root / "My Docs/a file.md").as_uri()):
        files = listed(loader, reference)
        assert files.get_files() == ["My Docs/a file.md"]
        body = sent(files)
        assert all(text in body for text in wanted["request_contains"])
        assert "decoy" not in body
        assert body.splitlines()[0] == "My Docs/a file.md"


def test_br_112_brackets_stars_and_braces_are_literal(tmp_path: Path) -> None:
    root = build("BR-112", tmp_path)
    wanted = expect("BR-112")
    loader = loader_of(root)
    files = listed(loader, wanted["add"])
    body = sent(files)
    assert all(text in body for text in wanted["request_contains"])
    assert not any(text in body for text in wanted["request_not_contains"])
    for name, text in (
        ("src/[...slug]/x.ts", "SPREAD"),
        ("src/(group)/y.ts", "GROUP"),
        ("src/{a,b}/z.ts", "BRACE"),
        ("src/star*.ts", "STAR"),
    ):
        assert text in loaded(loader, name).content.text
    (found,) = mentions(f"look at @{wanted['add']}, please")
    assert found.path == wanted["add"]
    listed_both = listed(loader, wanted["add"], "src/app/i/page.tsx")
    assert listed_both.remove_file(wanted["add"])
    assert listed_both.get_files() == ["src/app/i/page.tsx"]


def test_br_114_files_go_by_their_own_root_and_its_own_rules(tmp_path: Path) -> None:
    root = build("BR-114", tmp_path)
    wanted = expect("BR-114")
    loader = loader_of(*(root / name for name in wanted["roots"]))
    files = listed(loader, wanted["add"])
    body = sent(files)
    assert files.get_files() == ["web/src/main.py"]
    assert all(text in body for text in wanted["request_contains"])
    assert not any(text in body for text in wanted["request_not_contains"])
    ambiguous = loader.load("src/main.py")
    assert isinstance(ambiguous, Refusal)
    assert ambiguous.reason is Reason.AMBIGUOUS
    assert "api/src/main.py" in ambiguous.message
    ignored = loader.load("web/secret.txt")
    assert isinstance(ignored, Refusal)
    assert ignored.reason is Reason.IGNORED
    assert ".gitignore: secret.txt" in ignored.message
    assert "API-OK" in loaded(loader, "api/secret.txt").content.text
    inside_api = loader.load("src/main.py", base="api")
    assert isinstance(inside_api, LoadedFile)
    assert inside_api.key == "api/src/main.py"


def test_br_114_folders_come_and_go_while_entries_keep_their_pins(tmp_path: Path) -> None:
    root = build("BR-114", tmp_path)
    loader = loader_of(root / "api")
    files = listed(loader, "src/main.py")

    def follow(new_key) -> None:  # type: ignore[no-untyped-def]
        files.rekey({key: new for key in files.get_files() if (new := new_key(key))})

    follow(loader.roots.add((root / "web").as_uri()))
    assert files.get_files() == ["api/src/main.py"]
    assert not loader.refresh(files.entries())
    follow(loader.roots.remove((root / "web").as_uri()))
    assert files.get_files() == ["src/main.py"]
    assert loader.roots.remove(str(root / "api"))("src/main.py") is None
    changes = loader.sync(files)
    assert changes.failed["src/main.py"].reason is Reason.OUTSIDE_WORKSPACE
    assert files.entries()[0].state == "refused"


def test_br_116_the_boundary_is_compared_by_components(tmp_path: Path) -> None:
    built = build("BR-116", tmp_path)
    wanted = expect("BR-116")
    root = built / wanted["root"]
    loader = loader_of(root)
    for reference in wanted["refused"]:
        given = reference.removesuffix(" (Windows)")
        if given.startswith("<"):
            given = str(built / "w/app-secrets/k.txt")
        refusal = loader.load(given)
        assert isinstance(refusal, Refusal), given
        assert refusal.reason is Reason.OUTSIDE_WORKSPACE, given
    for reference in wanted["accepted"]:
        loaded(loader, reference)


@pytest.mark.parametrize("flavour", [POSIX, WINDOWS])
def test_uris_round_trip_in_both_flavours(flavour: Flavour) -> None:
    names = ["a b.py", "100%.txt", "a#b?.py", "[id].tsx", "ü ñ.md", "v1..v2.diff", "a%2Fb"]
    if flavour is WINDOWS:
        names = [name.replace("?", "") for name in names]
    folder = "c:\\w\\my docs" if flavour is WINDOWS else "/w/my docs"
    for name in names:
        path = flavour.join(folder, name)
        uri = flavour.to_uri(path)
        assert " " not in uri
        assert flavour.from_uri(uri) == path


@pytest.mark.skipif(os.name == "nt", reason="POSIX names")
def test_a_root_given_by_a_link_and_by_its_real_path_is_one(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/a.py").write_text("A\n")
    (tmp_path / "link").symlink_to("real")
    loader = loader_of(tmp_path / "link")
    for base in ("real", "link"):
        found = loaded(loader, str(tmp_path / base / "a.py"))
        assert (found.key, found.alias) == ("a.py", "")
