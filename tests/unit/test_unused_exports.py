"""Nothing in the client is there for its tests alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

CLIENT = Path(__file__).parents[2] / "vscode-client" / "src"
CALLED_BY_THE_EDITOR = {"activate", "deactivate"}
EXPORTED = re.compile(
    r"^export (?:async )?(?:const|let|function\*?|class|enum|interface|type) ([\w$]+)", re.M
)


def test_what_the_client_exports_is_used_in_the_client() -> None:
    """By name, and tests do not count. The generated protocol is whole, whoever uses it."""
    texts = [file.read_text("utf-8") for file in CLIENT.rglob("*.ts*")]
    said = Counter(word for text in texts for word in re.findall(r"[\w$]+", text))
    exported = {
        name
        for file in CLIENT.rglob("*.ts*")
        if file.name != "protocol.ts"
        for name in EXPORTED.findall(file.read_text("utf-8"))
    }
    assert len(exported) > 200
    assert {name for name in exported if said[name] < 2} <= CALLED_BY_THE_EDITOR
