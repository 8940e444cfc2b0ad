"""A session as a long day has it: one of each kind of request that does something."""

from __future__ import annotations

from collections.abc import Callable

from lsp.pipe import Pipe


def use(pipe: Pipe, prompts: int = 3, before_the_end: Callable[[], None] = lambda: None) -> None:
    """Start, work, and leave; ``before_the_end`` is called while all processes still run."""
    pipe.initialize(symbols={"enabled": True})
    pipe.until(lambda: any(e["status"]["state"] == "ready" for e in pipe.events("symbolsChanged")))
    pipe.request("tierline/files/add", {"path": "src/web/views.py"})
    pipe.request("tierline/pins/add", {"path": "src/parser/tokens.py", "symbol": "tokenize_query"})
    pipe.request("tierline/memo/save", {"content": "Queries are parsed by parse_query. #parser"})
    # Ranked by meaning, so that the sentence model runs too where it is installed.
    pipe.request("tierline/history/strategy", {"name": "ranked"})
    pipe.request("tierline/history/window", {"size": 1})
    for number in range(prompts):
        text = f"How does parse_query in @src/parser/grammar.py use tokens? ({number})"
        turn = pipe.request("tierline/chat/send", {"text": text})["turnId"]

        def ended(turn: str = turn) -> bool:
            return any(e["turnId"] == turn for e in pipe.events("turnFinished"))

        pipe.until(ended, 120)
    for method, params in (
        ("memo/search", {"query": "parser"}), ("memo/list", {}), ("memory/stats", {}),
        ("memory/compress", {}), ("symbols/reindex", {"fresh": True}), ("symbols/status", {}),
        ("retrieval/code", {"symbol": "parse_query"}), ("retrieval/get", {}),
        ("capsule/make", {"path": "src/parser"}), ("capsule/list", {}),
        ("history/search", {"query": "tokens"}), ("history/rebuild", {}),
        ("history/query", {"sql": "SELECT count(*) FROM messages"}),
        ("compaction/run", {}), ("stats/get", {"all": True}), ("stats/turns", {"all": True}),
        ("cache/explain", {}), ("cache/tiers", {}), ("plan/get", {"prompt": "and then?"}),
        ("budget/get", {}), ("state/get", {}), ("history/newSession", {}),
    ):  # fmt: skip
        answer = pipe.answer(pipe.post(f"tierline/{method}", params), 60)
        assert answer.get("error", {}).get("code") != -32601, f"{method} is still there"
    before_the_end()
    pipe.request("shutdown", seconds=30)
    pipe.notify("exit")
    pipe.gone(20)
