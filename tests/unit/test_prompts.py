"""The folder of texts that are sent to models."""

from __future__ import annotations

import re
from pathlib import Path

from tierline import prompts
from tierline.history.state import FIELDS, HEADING, rebuild_request

SERVER = Path(prompts.__file__).parents[1]
READERS = re.compile(r"""prompts\.read\(["'](\w+)["']\)""")


def test_each_text_has_one_reader_and_each_reader_its_text() -> None:
    read = [n for f in SERVER.rglob("*.py") for n in READERS.findall(f.read_text("utf-8"))]
    assert sorted(read) == sorted(file.stem for file in Path(prompts.__file__).parent.glob("*.txt"))
    assert all(prompts.read(name).strip() for name in read)


def test_the_texts_about_state_have_the_form_that_is_read_back() -> None:
    for text in (prompts.read("state"), rebuild_request("said")):
        form = text[text.index(HEADING) :]
        assert [name for name in FIELDS if f"\n{name}: " in form] == list(FIELDS)
