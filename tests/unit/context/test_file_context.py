"""FileContext: seed 004 "File Context", with the pins and leases of seed 003."""

from __future__ import annotations

import json

import pytest

from support.filelists import Words, add, sent, text_of
from tierline.context import fences
from tierline.context.fences import parse_fenced, render_file
from tierline.context.files import FileContext, FileEntry, FileState, normalized_key
from tierline.context.filetext import FileText, file_text
from tierline.context.items import Pin, Section
from tierline.context.refusals import Reason, Refusal, refuse

DISK = {"a.py": "from disk\n", "src/b.py": "b\n"}


def read(key: str) -> FileText | Refusal:
    if key == "blob.bin":
        return refuse(key, Reason.BINARY)
    return file_text(DISK[key]) if key in DISK else refuse(key, Reason.NOT_FOUND)


def read_again(key: str, confirmed: bool) -> FileText | Refusal:
    return read(key)


def context(**texts: str) -> FileContext:
    return add(FileContext(), **texts)


# --- the seed's list -----------------------------------------------------------------------------


def test_remove() -> None:
    """Seed 004, Testing / FileContext: "Remove"."""
    files = context(a_py="x\n")
    assert files.remove_file("a.py") is True
    assert files.remove_file("a.py") is False
    assert text_of(files, "a.py") is None


def test_get_files_sorted() -> None:
    """Seed 004, Testing / FileContext: "get_files sorted"."""
    files = FileContext()
    for name in ("src/z.py", "a.py", "src/b.py"):
        files.put(name, file_text("x\n"))
    assert files.get_files() == ["a.py", "src/b.py", "src/z.py"]


def test_clear() -> None:
    """Seed 004, Testing / FileContext: "clear"."""
    files = context(a_py="x\n", b_py="y\n")
    files.clear()
    assert files.get_files() == []
    assert sent(files) == ""


def test_format_for_prompt_includes_path_and_fenced_content() -> None:
    """Seed 004, Testing / FileContext: "format_for_prompt includes path and fenced content"."""
    files = context(src__b_py="two\n", a_py="one")
    assert sent(files) == (
        "a.py\n```python no-final-newline\none\n```\n\nsrc/b.py\n```python\ntwo\n```\n"
    )


def test_tokens_by_file_add_up_and_count_what_is_sent() -> None:
    """Seed 004, File Context: "Per-file token counts"."""
    files = context(a_py="one two\n", b_py="three\n")
    assert {item.path: item.tokens for item in files.to_items(Words())} == {"a.py": 5, "b.py": 4}
    assert Words().count(sent(files)) == 9
    files.fail("b.py", refuse("b.py", Reason.NOT_FOUND))
    (item,) = files.to_items(Words())
    assert item.tokens == 5


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("src\\a.py", "src/a.py"),
        ("/src/a.py/", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/x/../a.py", "src/a.py"),
        ("v1..v2.diff", "v1..v2.diff"),
        ("...", "..."),
        ("", None),
        (".", None),
    ],
)
def test_keys_are_normalised_by_components(written: str, key: str | None) -> None:
    """Seed 004, "Path Normalization", except that only a whole component ``..`` climbs (BR-116)."""
    assert normalized_key(written) == key


# --- entries -------------------------------------------------------------------------------------


def test_an_unchanged_file_keeps_its_bytes_and_a_changed_one_its_place() -> None:
    files = context(a_py="x\n", b_py="y\n")
    before = files.to_items(Words())
    files.put("a.py", file_text("x\r\n"))
    assert files.to_items(Words()) == before
    files.put("b.py", file_text("z\n"))
    after = files.to_items(Words())
    assert after[0] == before[0]
    assert (after[1].key, after[1].section, after[1].path) == ("file:b.py", Section.FILES, "b.py")
    assert after[1].sha256 != before[1].sha256
    assert after[1].text == render_file("b.py", "z\n")


def test_every_alias_reaches_the_entry_and_is_listed_once() -> None:
    files = FileContext()
    for _ in range(2):
        files.put("AGENTS.md", file_text("x\n"), alias="CLAUDE.md")
    assert files.get_files() == ["AGENTS.md"]
    entry = files.get("./CLAUDE.md")
    assert entry is not None
    assert entry.aliases == ("CLAUDE.md",)


def test_a_key_with_a_backslash_is_found_literally_first() -> None:
    files = FileContext()
    files.put("a\\b", file_text("literal\n"))
    files.put("a/b", file_text("nested\n"))
    assert text_of(files, "a\\b") == "literal\n"
    files.remove_file("a\\b")
    assert text_of(files, "a\\b") == "nested\n"


def test_each_entry_that_is_not_sent_says_why_and_what_to_do() -> None:
    """The invariant of BR-032: in the body, or listed with a reason. No third state."""
    files = context(a_py="x\n", b_py="y\n", c_py="z\n")
    files.fail("a.py", refuse("a.py", Reason.NOT_FOUND))
    files.fail("b.py", refuse("b.py", Reason.BINARY))
    files.shed(["c.py", "unknown.py"], "12 tokens")
    states = {entry.key: (entry.state, entry.reason) for entry in files.entries()}
    assert states == {
        "a.py": (FileState.MISSING, "not_found"),
        "b.py": (FileState.REFUSED, "binary"),
        "c.py": (FileState.SHED, "over_budget"),
    }
    assert all(entry.key in entry.sentence for entry in files.entries())
    assert all(
        entry.sentence.count(".") >= 3 for entry in files.entries()
    )  # name.py and 2 sentences
    assert [item.path for item in files.to_items(Words())] == ["c.py"], "each plan decides anew"
    assert text_of(files, "c.py") == "z\n"
    files.unshed()
    assert files.entries()[2].state is FileState.OK


def test_a_shed_file_keeps_its_text_but_a_refused_one_forgets_it() -> None:
    files = context(a_py="x\n", b_py="y\n")
    files.shed(["a.py"])
    files.fail("b.py", refuse("b.py", Reason.SECRET))
    assert text_of(files, "a.py") == "x\n"
    assert text_of(files, "b.py") == ""


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_both_sentences(reason: Reason) -> None:
    refusal = refuse("x.py", reason, "detail")
    assert refusal.message.startswith(("x.py", "The "))
    assert refusal.message.endswith(".")
    assert refusal.advice.endswith(".")
    assert refusal.confirmable == (reason in (Reason.IGNORED, Reason.SECRET))


# --- pins and leases -----------------------------------------------------------------------------


def test_a_lease_ends_with_its_scope_and_takes_only_automatic_files_along() -> None:
    """Seed 003, "Lease Scope" and "leased: auto-added and dropped after a given scope"."""
    files = FileContext()
    files.put("auto.py", file_text("x\n"), automatic=True)
    files.put("mine.py", file_text("y\n"))
    for name in ("auto.py", "mine.py"):
        files.hold(name, Pin.LEASED, "turn:7")
    assert files.end_scope("turn:8") == []
    assert files.end_scope("turn:7") == ["auto.py"]
    assert files.get_files() == ["mine.py"]
    assert files.entries()[0].pin is Pin.NONE


def test_use_promotes_ephemeral_to_leased_and_only_the_user_makes_sticky() -> None:
    """Seed 003: "can promote from epheremeral to leased, only user pins as sticky"."""
    files = context(a_py="x\n")
    files.hold("a.py", Pin.EPHEMERAL)
    entry = files.hold("a.py", Pin.LEASED, "task:1")
    assert entry is not None
    assert (entry.pin, entry.lease) == (Pin.LEASED, "task:1")
    entry = files.hold("a.py", Pin.STICKY)
    assert entry is not None and entry.pin is Pin.LEASED
    entry = files.set_pin("a.py", Pin.STICKY)
    assert entry is not None and entry.pin is Pin.STICKY
    entry = files.hold("a.py", Pin.LEASED, "turn:1")
    assert entry is not None and entry.pin is Pin.STICKY
    assert files.end_scope("turn:1") == []


def test_a_lease_without_a_scope_is_an_error() -> None:
    with pytest.raises(ValueError, match="scope"):
        context(a_py="x\n").set_pin("a.py", Pin.LEASED)


def test_naming_an_automatic_file_makes_it_the_users() -> None:
    files = FileContext()
    files.put("a.py", file_text("x\n"), automatic=True, origin="retrieved")
    files.hold("a.py", Pin.LEASED, "turn:1")
    files.put("a.py", file_text("x\n"), origin="added by you")
    assert files.end_scope("turn:1") == []
    assert files.entries()[0].origin == "added by you"


def test_sticky_files_are_dropped_last() -> None:
    files = context(a_py="x\n", b_py="y\n", c_py="z\n")
    files.set_pin("b.py", Pin.STICKY)
    files.set_pin("c.py", Pin.LEASED, "turn:1")
    priorities = {item.path: item.priority for item in files.to_items(Words())}
    assert priorities["b.py"] > priorities["c.py"] > priorities["a.py"]


# --- renames and deletes -------------------------------------------------------------------------


def test_a_folder_rename_moves_what_is_in_it_and_nothing_else() -> None:
    files = FileContext()
    for name in ("old/a.py", "old/sub/b.py", "older/c.py", "old.py"):
        files.put(name, file_text(name + "\n"))
    files.set_pin("old/a.py", Pin.STICKY)
    assert files.rename("old", "new") == {"old/a.py": "new/a.py", "old/sub/b.py": "new/sub/b.py"}
    assert files.get_files() == ["new/a.py", "new/sub/b.py", "old.py", "older/c.py"]
    entry = files.get("new/a.py")
    assert entry is not None and entry.pin is Pin.STICKY


def test_a_rename_onto_a_listed_file_leaves_one_entry_with_the_stronger_pin() -> None:
    files = context(a_py="new\n", b_py="old\n")
    files.set_pin("b.py", Pin.STICKY)
    files.rename("a.py", "b.py")
    assert files.get_files() == ["b.py"]
    assert text_of(files, "b.py") == "new\n"
    assert files.entries()[0].pin is Pin.STICKY


def test_two_files_may_change_places() -> None:
    files = context(a_py="A\n", b_py="B\n")
    files.rekey({"a.py": "b.py", "b.py": "a.py"})
    assert (text_of(files, "a.py"), text_of(files, "b.py")) == ("B\n", "A\n")


def test_deleting_a_folder_leaves_its_entries_missing() -> None:
    files = FileContext()
    for name in ("src/a.py", "src/b.py", "srcs.py"):
        files.put(name, file_text("x\n"))
    assert files.delete("src") == ["src/a.py", "src/b.py"]
    assert [str(entry.state) for entry in files.entries()] == ["missing", "missing", "ok"]


# --- persistence ---------------------------------------------------------------------------------


def test_selection_pins_and_leases_come_back_but_no_text_is_stored() -> None:
    """Issue 3: "Files, pins and leases persist and come back after a restart"."""
    files = FileContext()
    files.put("a.py", file_text("from disk\n"), alias="link.py", origin="added by you")
    files.set_pin("a.py", Pin.STICKY)
    files.put("src/b.py", file_text("b\n"), automatic=True)
    files.hold("src/b.py", Pin.LEASED, "task:3")
    files.put("gone.py", file_text("MARKER\n"), confirmed=True)
    stored = json.dumps(files.snapshot())
    assert "MARKER" not in stored and "from disk" not in stored
    again = FileContext()
    again.restore(json.loads(stored), read_again)
    assert again.get_files() == files.get_files()
    first, gone, leased = again.entries()
    assert (first.pin, first.aliases, first.origin) == (Pin.STICKY, ("link.py",), "added by you")
    assert first.text == "from disk\n"
    assert (leased.pin, leased.lease, leased.automatic) == (Pin.LEASED, "task:3", True)
    assert (gone.state, gone.confirmed) == (FileState.MISSING, True)
    assert again.end_scope("task:3") == ["src/b.py"]


@pytest.mark.parametrize(
    "record", [None, 3, [], {}, {"key": 1}, {"key": "../x"}, {"key": ""}, {"key": "."}]
)
def test_records_that_make_no_sense_are_skipped(record: object) -> None:
    files = FileContext()
    files.restore([record, {"key": "a.py", "pin": "nonsense", "aliases": 3}], read_again)
    assert files.get_files() == ["a.py"]
    assert files.entries()[0].pin is Pin.NONE


def test_a_file_that_was_confirmed_for_one_session_is_not_confirmed_in_the_next() -> None:
    files = FileContext()
    files.put(".env", file_text("A=1\n"), confirmed=True, once=True)
    asked: list[tuple[str, bool]] = []

    def note(key: str, confirmed: bool) -> Refusal:
        asked.append((key, confirmed))
        return refuse(key, Reason.SECRET)

    again = FileContext()
    again.restore(files.snapshot(), note)
    assert asked == [(".env", False)]
    assert again.entries()[0].state is FileState.REFUSED


# --- cutting -------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [100, 300, 1000])
def test_a_long_file_is_cut_at_a_line_within_the_limit(limit: int) -> None:
    text = "".join(f"line {n} of the file\n" for n in range(2000))
    files = context(a_py=text)
    (item,) = files.to_items(Words(), max_tokens=limit)
    assert item.tokens <= limit
    assert item.tokens == Words().count(item.text)
    (back,) = parse_fenced(item.text)
    assert text.startswith(back.text)
    assert back.text == "" or back.text.endswith("\n")
    assert back.note.startswith("cut: the first ")
    assert f"{len(text):,} characters" in item.text.splitlines()[-1]
    (whole,) = files.to_items(Words())
    assert (item.whole_tokens, whole.whole_tokens) == (whole.tokens, 0)


def test_a_cut_stays_where_it_is_while_the_counter_is_calibrated() -> None:
    """Moving it would change bytes in the cached prefix for nothing."""

    class Drifting:
        factor = 1.0

        def count(self, text: str) -> int:
            return int(len(text.split()) * self.factor)

    counter = Drifting()
    files = context(a_py="".join(f"line {n} of the file\n" for n in range(2000)))
    (before,) = files.to_items(counter, max_tokens=1000)
    counter.factor = 0.9
    (after,) = files.to_items(counter, max_tokens=1000)
    assert (after.text, after.sha256) == (before.text, before.sha256)
    assert after.tokens < before.tokens
    counter.factor = 1.2
    (shorter,) = files.to_items(counter, max_tokens=1000)
    assert shorter.tokens <= 1000
    assert len(shorter.text) < len(before.text)
    files.put("a.py", file_text("short\n"))
    assert "cut" not in files.to_items(counter, max_tokens=1000)[0].text


def test_the_size_of_a_cut_file_is_known_without_cutting_it() -> None:
    files = context(a_py="".join(f"line {n} of the file\n" for n in range(2000)))
    (entry,) = files.entries()
    assert files.cut_tokens(entry, Words(), 300) == 300, "the limit, as long as nothing was cut"
    (item,) = files.to_items(Words(), max_tokens=300)
    assert files.cut_tokens(entry, Words(), 300) == item.tokens < 300
    assert files.cut_tokens(entry, Words(), 100) == 100, "never more than the limit"
    files.put("a.py", file_text("word " * 2000))
    (changed,) = files.entries()
    assert files.cut_tokens(changed, Words(), 300) == 300, "another text was cut"


def test_unchanged_files_are_not_rendered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    files = context(a_py="one\n", b_py="two\n")
    before = files.to_items(Words())
    monkeypatch.setattr(fences, "render_file", lambda *_: pytest.fail("rendered again"))
    files.put("a.py", file_text("one\r\n"), alias="link.py")
    files.set_pin("b.py", Pin.STICKY)
    after = files.to_items(Words())
    monkeypatch.undo()
    assert [item.text for item in after] == [item.text for item in before]
    assert after[1].text is before[1].text
    assert after[1].pin is Pin.STICKY
    files.remove_file("b.py")
    assert [item.path for item in files.to_items(Words())] == ["a.py"]


def test_a_file_within_the_limit_is_not_cut() -> None:
    files = context(a_py="one two\n")
    assert files.to_items(Words(), max_tokens=5) == files.to_items(Words())


def test_entries_are_values() -> None:
    files = context(a_py="x\n")
    entry = files.entries()[0]
    assert isinstance(entry, FileEntry)
    files.set_pin("a.py", Pin.STICKY)
    assert entry.pin is Pin.NONE
