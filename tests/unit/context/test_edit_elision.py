"""Comments that stand for code which a model did not write out."""

from __future__ import annotations

import pytest

from tierline.context.edits.blocks import (
    EditMismatch,
    Proposal,
    SearchReplaceBlock,
    elision,
    propose,
)
from tierline.context.edits.fitting import fit

CLASS = (
    "class Store:\n    def get(self):\n        return 1\n\n    def put(self):\n        return 2\n"
)


@pytest.mark.parametrize(
    "comment",
    [
        "# ...",
        "# … existing methods …",
        "# ... (rest of the code remains the same)",
        "# rest of the class is unchanged",
        "# Existing code",
        "// ... existing code ...",
        "// (rest unchanged...)",
        "/* ... other rules ... */",
        "{/* ... rest of the component ... */}",
        "<!-- ... remaining rows ... -->",
        "-- ... same as before",
        "# 文件其余部分保持不变",
        "// 기존 코드 그대로",
        "# ... restlicher Code unverändert ...",
        "# unchanged",
    ],
)
def test_a_comment_in_the_place_of_code_is_found(comment: str) -> None:
    assert elision(CLASS, f"class Store:\n    {comment}\n") == comment


@pytest.mark.parametrize(
    "line",
    [
        "# see the existing rules below",
        "# Keep other keys: callers rely on them.",
        "return [...rest]",
        "    ...",
        "# Waits for the rest of the queue",
        "# The previous value wins.",
        "# loading...",
        'print("... rest unchanged ...")',
        "# 1, 2, 3, ... are skipped by the caller",
        "#!/bin/sh",
        "# -----",
        "",
    ],
)
def test_other_lines_are_not(line: str) -> None:
    assert elision(CLASS, f"class Store:\n{line}\n") == ""


def test_what_loses_no_lines_or_says_so_already_is_fine() -> None:
    assert elision("a = 1\n", "# ... existing code ...\na = 2\n") == ""
    assert elision("# ...\na = 1\nb = 2\n", "# ...\na = 1\n") == ""


def test_an_edit_that_would_lose_code_is_refused_with_the_line() -> None:
    made = propose(
        CLASS, [SearchReplaceBlock(CLASS, "class Store:\n    # ... existing methods ...\n")]
    )
    assert isinstance(made, EditMismatch) and made.code == "elided"
    assert "`# ... existing methods ...`" in made.reason and "4 lines" in made.reason
    whole = propose(CLASS, [SearchReplaceBlock("return 2", "return 3")])
    assert isinstance(whole, Proposal)


def test_code_of_a_reply_does_not_replace_a_class_by_a_comment() -> None:
    blocks = fit(CLASS, "class Store:\n    # ... rest unchanged\n    def size(self): ...\n")
    assert not isinstance(blocks, str)
    made = propose(CLASS, blocks)
    assert isinstance(made, EditMismatch) and made.code == "elided"
