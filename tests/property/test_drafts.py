"""A draft, however its reply came and wherever it was cut, is the beginning of that reply."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from tierline.context.text import well_formed
from tierline.store import redaction
from tierline.store.drafts import DraftOrigin, Drafts, read
from tierline.store.redaction import IncrementalRedaction
from tierline.workspace.secrets import redact as find_and_replace

EXAMPLES = int(os.environ.get("TIERLINE_FUZZ_EXAMPLES", "150"))
PIECES = st.sampled_from(
    [
        "word ", "\n", "\n\n", "password=", '"hunter2-X"', "AKIA", "0123456789ABCDEF", "ghp_",
        "a1B2" * 10, "-----BEGIN PRIVATE KEY-----", "MIIEv" * 20 + "\n",
        "-----END PRIVATE KEY-----", "é", "😀", "\ud83d", "\ude00", "\u2028", "\0", "token: ",
        "Authorization: Bearer ",
    ]
)  # fmt: skip
replies = st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=12)
ORIGIN = DraftOrigin("1-a", "sess_1_a", "1-b", "main", "t", "openai", "", False)


def redact(text: str) -> str:
    return find_and_replace(text)[0]


@settings(max_examples=EXAMPLES, deadline=None)
@given(replies, st.integers(150, 600))
def test_a_growing_text_reads_as_the_log_would_have_it(pieces: list[str], window: int) -> None:
    """Whatever is settled: what was kept, with what is new, is the redacted text. The window is
    longer than any of the secrets here but keys of several lines.
    """
    growing, before = IncrementalRedaction(redact), redaction.WINDOW
    redaction.WINDOW, growing._cut_at = window, 2 * window
    try:
        text = kept = ""
        for piece in pieces:
            text += piece
            new = growing.grow(text)
            kept = growing.whole if new is None else kept + new
            assert growing.whole == kept
            growing.keep()
            assert growing.written == len(kept)
            # What is cut apart is looked at apart: the text as a whole is looked at once more when
            # it goes into the log.
            assert redact(kept) == redact(redact(well_formed(text)))
    finally:
        redaction.WINDOW = before


@settings(max_examples=EXAMPLES, deadline=None)
@given(replies, st.data())
def test_a_torn_draft_is_the_beginning_of_the_reply(pieces: list[str], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        draft = Drafts(Path(folder), None).begin(ORIGIN)
        assert draft is not None
        text = ""
        for piece in pieces:
            text += piece
            draft.write(text, [], 0)
        found = list(Path(folder).glob("drafts/*.jsonl"))
        if not pieces:
            assert found == []
            return
        (path,) = found
        whole = path.read_bytes()
        assert read(path).text == well_formed(text)
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut] + data.draw(st.sampled_from([b"", b"\0" * 50])))
        torn = read(path)
        if torn.origin is None:
            assert cut <= whole.index(b"\n"), "only without its first line"
        # Half of an emoji that the cut fell behind stands for itself.
        assert well_formed(text).startswith(torn.text.removesuffix("\ufffd"))


def test_the_cost_does_not_grow_with_the_reply() -> None:
    """200 KB of ordinary text in pieces of 1 KB: the last ones cost what the first ones do."""
    lines = [
        f"The token {i} of the parser is read, and its password is none of ours.\n"
        for i in range(15)
    ]
    growing, text, spent = IncrementalRedaction(redact), "", []
    for _ in range(200):
        text += "".join(lines)
        began = time.thread_time()
        growing.grow(text)
        growing.keep()
        spent.append(time.thread_time() - began)
    first, last = sorted(spent[10:60])[25], sorted(spent[-50:])[25]
    assert last < 3 * first + 0.002, (first, last)
