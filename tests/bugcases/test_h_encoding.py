"""Area H: file content and encoding. Each test names its case of ``bugcases/reports.md``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from lsprotocol import types as lsp
from pygls.workspace import Workspace

from bugcases.fixtures import case, expect
from support.filelists import sent
from tierline.context.fences import parse_fenced
from tierline.context.files import FileContext
from tierline.context.refusals import Reason, Refusal
from tierline.context.text import clip, clip_end, well_formed
from tierline.workspace.buffers import Buffers
from tierline.workspace.decoding import encode_back
from tierline.workspace.loader import LoadedFile, Loader
from tierline.workspace.paths import Roots


class FourCharacters:
    """The stub counter that the cases assume: one token per four characters."""

    def count(self, text: str) -> int:
        return (len(text) + 3) // 4


def loader_of(root: Path, buffers: Buffers | None = None) -> Loader:
    return Loader(Roots([str(root)]), buffers, git_excludes="")


def copied(name: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(case(name), tmp_path / "w"))


def loaded(loader: Loader, reference: str) -> LoadedFile:
    found = loader.load(reference)
    assert isinstance(found, LoadedFile), found
    return found


def test_br_022_no_cut_leaves_half_a_character_and_every_text_encodes() -> None:
    text = (case("BR-022") / "emoji_run.txt").read_text(encoding="utf-8")
    for length in range(1, 41):
        for cut in (clip(text, length), clip_end(text, length)):
            cut.encode("utf-8")
            assert len(cut) <= length
            assert "\ufffd" not in cut
        assert text.startswith(clip(text, length))
        assert text.endswith(clip_end(text, length))
    first, _ = (case("BR-022") / "history.jsonl").read_text(encoding="utf-8").splitlines()
    content = json.loads(first)["content"]
    with pytest.raises(UnicodeEncodeError):
        content.encode("utf-8")
    mended = well_formed(content)
    assert mended.encode("utf-8").decode("utf-8") == mended
    assert mended.count("\ufffd") == 2
    assert "\U0001f60b" in mended


def test_br_096_a_file_that_is_not_utf8_is_read_by_a_stated_fallback(tmp_path: Path) -> None:
    root = copied("BR-096", tmp_path)
    loader = loader_of(root)
    latin = loaded(loader, "latin1.py")
    assert "name = 'René'" in latin.content.text
    assert latin.content.facts.guessed
    assert any("cp1252" in warning for warning in latin.warnings)
    assert encode_back(latin.content, latin.content.text) == (root / "latin1.py").read_bytes()
    assert not loaded(loader, "ok.py").warnings


def test_br_096_a_broken_pygls_document_falls_back_to_disk(tmp_path: Path) -> None:
    root = copied("BR-096", tmp_path)
    workspace = Workspace(root.as_uri())
    document = workspace.get_text_document((root / "latin1.py").as_uri())
    with pytest.raises(UnicodeDecodeError):
        document.source  # noqa: B018 - what pygls does today, and why the adapter guards it
    loader = loader_of(root, Buffers({document.uri: document}))
    assert "René" in loaded(loader, "latin1.py").content.text


def test_br_098_disk_and_buffer_give_the_same_text_hash_and_count(tmp_path: Path) -> None:
    root = copied("BR-098", tmp_path)
    wanted = expect("BR-098")
    assert wanted["same"] == ["prompt text", "token count", "content hash"]
    from_disk = loaded(loader_of(root), "crlf.txt")
    text = json.loads((root / "didopen_text.json").read_text(encoding="utf-8"))
    workspace = Workspace(root.as_uri())
    uri = (root / "crlf.txt").as_uri()
    workspace.put_text_document(lsp.TextDocumentItem(uri, "plaintext", 1, text))
    assert "\r\n" in workspace.get_text_document(uri).source
    from_buffer = loaded(loader_of(root, Buffers(workspace.text_documents)), "crlf.txt")
    assert from_buffer.content.text == from_disk.content.text == "alpha\nbeta\ngamma\n"
    assert from_buffer.content.sha256 == from_disk.content.sha256
    assert not from_buffer.dirty
    counts = []
    for found in (from_disk, from_buffer):
        files = FileContext()
        files.put(found.key, found.content, **found.listing)
        counts.append((sum(i.tokens for i in files.to_items(FourCharacters())), sent(files)))
    assert counts[0] == counts[1]
    assert from_buffer.content.facts.line_end == "crlf"


def test_br_100_incremental_edits_around_emoji_reach_the_prompt_right(tmp_path: Path) -> None:
    for number, script in enumerate(json.loads((case("BR-100") / "lsp_steps.json").read_text())):
        path = tmp_path / f"e{number}.py"
        path.write_text("on disk\n")
        uri = path.as_uri()
        workspace = Workspace(tmp_path.as_uri())
        workspace.put_text_document(lsp.TextDocumentItem(uri, "python", 1, script["open"]))
        for step in script["steps"]:
            for change in step["changes"]:
                (l0, c0), (l1, c1) = change["range"]
                workspace.update_text_document(
                    lsp.VersionedTextDocumentIdentifier(step["version"], uri),
                    lsp.TextDocumentContentChangePartial(
                        range=lsp.Range(lsp.Position(l0, c0), lsp.Position(l1, c1)),
                        text=change["text"],
                    ),
                )
        found = loaded(loader_of(tmp_path, Buffers(workspace.text_documents)), path.name)
        assert found.content.text == script["final"].replace("\r\n", "\n")
        assert found.dirty


def test_br_102_one_endless_line_is_cut_by_tokens_with_a_mark(tmp_path: Path) -> None:
    root = copied("BR-102", tmp_path)
    wanted = expect("BR-102")
    files = FileContext()
    found = loaded(loader_of(root), "bundle.min.js")
    assert found.content.text.count("\n") <= wanted["lines"]
    files.put(found.key, found.content)
    counter = FourCharacters()
    (item,) = files.to_items(counter, max_tokens=wanted["cap_tokens"])
    assert wanted["cap_tokens"] * 0.9 < item.tokens <= wanted["cap_tokens"]
    assert counter.count(item.text) == item.tokens
    size = f"{len(found.content.text):,}"
    assert item.text.count(f"of {size} characters") == 1  # in the head
    assert f"the whole file has {size} characters" in item.text.splitlines()[-1]
    (back,) = parse_fenced(item.text)
    assert found.content.text.startswith(back.text)
    (whole,) = files.to_items(counter)
    assert "cut" not in whole.text.splitlines()[0]


def test_br_104_binary_files_are_refused_and_pictures_go_their_own_way(tmp_path: Path) -> None:
    root = copied("BR-104", tmp_path)
    loader = loader_of(root)
    wanted = expect("BR-104")
    for name in wanted["refused"]:
        refusal = loader.load(name)
        assert isinstance(refusal, Refusal)
        assert refusal.reason is Reason.BINARY
        assert name in refusal.sentence
    for name in wanted["image_route"]:
        refusal = loader.load(name)
        assert isinstance(refusal, Refusal)
        assert refusal.reason in (Reason.IS_IMAGE, Reason.BAD_IMAGE)


@pytest.mark.parametrize("name", ["fences.md", "evil_close.txt"])
def test_br_106_the_wrapper_cannot_be_closed_from_within(tmp_path: Path, name: str) -> None:
    root = copied("BR-106", tmp_path)
    assert name in expect("BR-106")["round_trip_exact"]
    loader = loader_of(root)
    files = FileContext()
    for each in ("fences.md", "evil_close.txt"):
        found = loaded(loader, each)
        files.put(found.key, found.content)
    back = {fenced.path: fenced.text for fenced in parse_fenced(sent(files))}
    assert back[name] == (root / name).read_bytes().decode("utf-8")
    assert set(back) == {"fences.md", "evil_close.txt"}


def test_the_adapter_needs_no_pygls(tmp_path: Path) -> None:
    """The buffer view takes any mapping of things with uri, version and source."""
    (tmp_path / "a.py").write_text("disk\n")
    held = SimpleNamespace(uri=(tmp_path / "a.py").as_uri(), version=None, source="typed\r\n")
    found = loaded(loader_of(tmp_path, Buffers({"whatever": held})), "a.py")
    assert found.content.text == "typed\n"
    assert found.dirty
