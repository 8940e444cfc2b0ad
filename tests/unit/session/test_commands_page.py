"""docs/history.md lists what can be typed into the chat."""

from __future__ import annotations

import re
from pathlib import Path

from tierline.session.slash.commands import COMMANDS

PAGE = Path(__file__).parents[3] / "docs" / "history.md"


def test_every_command_of_the_chat_is_on_the_page_and_no_other() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("## Commands in the chat")[2]
    table = table.partition("\n## ")[0]
    listed = set(re.findall(r"`/([a-z]+)", table))
    assert listed == {command.words.split()[0] for command in COMMANDS}
