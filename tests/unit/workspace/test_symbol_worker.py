"""The index's process: who gets an answer while another one is in the making."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tierline.workspace.symbols import index as symbol_index
from tierline.workspace.symbols.worker import MAX_AT_ONCE, Worker

FILES = 30


class Bench:
    """A worker that has read a small tree, and what it has sent."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for number in range(FILES):
            text = f"def parse_{number}():\n    return parse_{(number + 1) % FILES}()\n"
            (root / f"mod{number}.py").write_text(text)
        self.sent: list[Mapping[str, Any]] = []
        self.worker = Worker(self.sent.append)
        self.ask(0, "open", folders=[{"prefix": "", "real": str(root)}])
        self.finish()

    def ask(self, number: int, do: str, **values: Any) -> None:
        self.worker.handle({"id": number, "do": do, **values})

    def finish(self) -> None:
        while self.worker.busy:
            self.worker.step()

    def answers(self) -> dict[int, Mapping[str, Any]]:
        return {sent["id"]: sent for sent in self.sent if "id" in sent}

    def events(self) -> list[str]:
        return [sent["event"] for sent in self.sent if "event" in sent]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    # The index looks at its process, which is the whole test run here.
    monkeypatch.setattr(symbol_index, "resident", lambda: 2)
    made = Bench(tmp_path.resolve())
    yield made
    assert made.worker._index is not None
    made.worker._index.close()


@pytest.mark.parametrize(
    ("do", "values"),
    [
        ("rank", {"text": "How does parse_3 return, and mod1.py?"}),
        ("map", {"tokens": 500, "per_file": 3}),
    ],
)
def test_names_are_answered_while_a_longer_answer_is_in_the_making(
    bench: Bench, do: str, values: Mapping[str, Any]
) -> None:
    bench.ask(1, do, **values)
    bench.worker.step()
    assert 1 not in bench.answers(), "it takes more than one step"
    bench.ask(2, "names", letters="parse_1", most=5)
    assert bench.answers()[2]["names"][0] == ["parse_1", "mod1.py", 1]
    assert 1 not in bench.answers()
    bench.finish()
    answer = bench.answers()[1]
    assert answer["ready"] and "error" not in answer


def test_an_answer_in_the_making_comes_before_what_is_to_be_read(bench: Bench) -> None:
    bench.sent.clear()
    bench.ask(1, "rescan")
    bench.ask(2, "rank", text="parse_3")
    while 2 not in bench.answers():
        bench.worker.step()
    assert "progress" not in bench.events()
    assert bench.answers()[2]["files"][0]["path"] == "mod3.py"
    bench.finish()
    assert "progress" in bench.events()


def test_many_changed_files_are_read_in_steps(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_index, "BATCH", 4)
    changed = [bench.root / f"mod{number}.py" for number in range(20)]
    assert len(changed) <= MAX_AT_ONCE
    for path in changed:
        path.write_text(f"def other_{path.stem}(): ...\n")
    bench.ask(1, "changed", paths=[str(path) for path in changed])
    steps = 0
    while 1 not in bench.answers():
        bench.worker.step()
        steps += 1
    assert steps >= 5
    assert bench.answers()[1]["keys"] == [path.name for path in changed]
    bench.ask(2, "names", letters="other_mod19", most=5)
    assert bench.answers()[2]["names"] == [["other_mod19", "mod19.py", 1]]


def test_an_answer_whose_index_is_closed_meanwhile_is_an_error(bench: Bench) -> None:
    bench.ask(1, "rank", text="parse_3")
    bench.worker.step()
    bench.ask(2, "open", folders=[{"prefix": "", "real": str(bench.root)}])
    bench.finish()
    assert "error" in bench.answers()[1]
    bench.ask(3, "rank", text="parse_3")
    bench.finish()
    assert bench.answers()[3]["files"][0]["path"] == "mod3.py"
