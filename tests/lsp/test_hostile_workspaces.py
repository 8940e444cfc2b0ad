"""Opening a hostile repository costs nothing: every file of ours as everything that it is not.

``make test`` puts all files of one kind into one workspace; ``make fuzz`` takes each file alone
(``TIERLINE_HOSTILE=all``), and mixtures that are drawn at random.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lsp.hostile_workspaces import HOW, TARGETS, attack
from support import oddfiles
from wire.scripts import o_reply
from wire.servers import WireServer, wire_server

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="makes devices, pipes and sockets")
EACH = os.environ.get("TIERLINE_HOSTILE") == "all"
EXAMPLES = int(os.environ.get("TIERLINE_HOSTILE_EXAMPLES", "0"))
by_name = pytest.mark.parametrize("put", oddfiles.KINDS, ids=lambda put: put.__name__)


@pytest.fixture(autouse=True)
def state_is_restored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TIERLINE_STATE_DIR", str(tmp_path / "state"))


@pytest.fixture(scope="module")
def answering() -> Iterator[WireServer]:
    with wire_server("openai", [o_reply("One ", "two ", "three.")]) as server:
        yield server


@by_name
@pytest.mark.parametrize("how", HOW)
def test_a_workspace_full_of_them(
    workspace: Path, answering: WireServer, put: oddfiles.Make, how: str
) -> None:
    told = attack(workspace, answering, dict.fromkeys(TARGETS, put), how)
    if how == "planted":
        assert len([text for text in told if "not made by your Tierline" in text]) == 1, told
    elif how == "ours" and put not in (oddfiles.torn, oddfiles.huge, oddfiles.without_permission):
        assert [t for t in told if "was not written to history.jsonl" in t], told


@by_name
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("name", TARGETS if EACH else [])  # each file alone: make fuzz
def test_one_of_them(
    workspace: Path, answering: WireServer, put: oddfiles.Make, how: str, name: str
) -> None:
    attack(workspace, answering, {name: put}, how)


@pytest.mark.skipif(not EXAMPLES, reason="mixtures: make fuzz")
@settings(
    max_examples=EXAMPLES or 1,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    what=st.dictionaries(st.sampled_from(TARGETS), st.sampled_from(oddfiles.KINDS), min_size=1),
    how=st.sampled_from(HOW),
)
def test_any_mixture_of_them(
    tmp_path_factory: pytest.TempPathFactory,
    answering: WireServer,
    what: dict[str, oddfiles.Make],
    how: str,
) -> None:
    workspace = tmp_path_factory.mktemp("hostile") / "work"
    (workspace / "src").mkdir(parents=True)
    (workspace / "src" / "a.py").write_text("def alpha() -> int:\n    return 1\n", "utf-8")
    attack(workspace, answering, what, how)
