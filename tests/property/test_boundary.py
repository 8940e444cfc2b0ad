"""No reference, however it is spelled, leads out of the workspace."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.context.files import normalized_key
from tierline.workspace.flavour import POSIX, WINDOWS
from tierline.workspace.loader import LoadedFile, Loader
from tierline.workspace.mentions import mentions
from tierline.workspace.paths import ResolvedPath, Roots

PIECES = ["..", ".", "a", "app", "app-secrets", "sub", "out", "in", "", "v1..v2", "%2e%2e", "...",
          "..%2f", "~", "k.txt", "C:", "\\", "..\\", "file:", "//"]  # fmt: skip
references = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("/".join)


@pytest.fixture(scope="module")
def tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder).resolve()
        for name in ("app/a", "app/sub/a", "app/k.txt", "app-secrets/k.txt", "app-secrets/a", "a"):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            inside = (top / name).is_relative_to(top / "app")
            (top / name).write_text("INSIDE\n" if inside else "OUTSIDE\n")
        if os.name != "nt":
            (top / "app/out").symlink_to("../app-secrets")
            (top / "app/in").symlink_to("sub")
        yield top


@settings(max_examples=400, deadline=None)
@given(reference=references, absolute=st.booleans(), uri=st.booleans())
def test_whatever_is_loaded_lies_inside(
    tree: Path, reference: str, absolute: bool, uri: bool
) -> None:
    given_as = f"{tree}/app/{reference}" if absolute else reference
    if uri:
        given_as = f"file://{tree}/app/{reference}"
    roots = Roots([str(tree / "app")])
    place = roots.resolve(given_as)
    if isinstance(place, ResolvedPath):
        assert Path(os.path.realpath(place.path)).is_relative_to(tree / "app")
        assert ".." not in place.key.split("/")
        if place.key and os.path.lexists(place.path):
            again = roots.resolve(place.key)
            assert isinstance(again, ResolvedPath)
            assert (again.key, again.path) == (place.key, place.path)
    loaded = Loader(roots, git_excludes="").load(given_as, confirm=True)
    if isinstance(loaded, LoadedFile):
        assert loaded.content.text == "INSIDE\n"


@given(reference=references, windows=st.booleans())
def test_pure_path_logic_never_leaves_the_root(reference: str, windows: bool) -> None:
    flavour = WINDOWS if windows else POSIX
    root = "c:\\w\\app" if windows else "/w/app"
    roots = Roots([root], flavour=flavour, realpath=lambda path: path)
    place = roots.resolve(reference)
    if isinstance(place, ResolvedPath):
        below = flavour.parts_below(root, flavour.normal(place.path))
        assert below is not None
        assert "/".join(below) == place.key


@given(references)
def test_tidy_keys_are_relative_and_stable(reference: str) -> None:
    key = normalized_key(reference)
    if key is not None:
        assert normalized_key(key) == key
        assert not key.startswith("/")
        assert ".." not in key.split("/")


@given(st.text(st.sampled_from('@"\\ ab/.[]`\n~('), max_size=60))
def test_mentions_lie_where_they_say(text: str) -> None:
    for mention in mentions(text):
        written = text[mention.start : mention.end]
        assert written.startswith("@")
        assert mention.path
        bare = written[1:].replace("\\ ", " ")
        assert mention.path in (bare, written[2:-1].replace('\\"', '"'))
