"""Messages that no client should send: the server answers, goes on, and says so.

A real server gets damaged frames, JSON of wrong types, requests out of order, strange cancels. It
must live, print nothing but frames, answer every request that can be told apart exactly once, and
answer a good one after each bad one. ``TIERLINE_FUZZ_SECONDS`` is the time of the random part
(120 with ``make fuzz``).
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import attrs
import pytest

from lsp.conftest import environment
from lsp.pipe import ForkedPipe as Pipe
from lsp.pipe import frame
from tierline import protocol as p
from wire.servers import WireServer

SECONDS = float(os.environ.get("TIERLINE_FUZZ_SECONDS", "5"))
SEED = int(os.environ.get("TIERLINE_FUZZ_SEED", "10"))


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def works(pipe: Pipe) -> None:
    """A good request is answered."""
    assert pipe.request("tierline/files/list")["files"] == []
    assert pipe.process.poll() is None
    assert pipe.junk == []


BAD_FRAMES = {
    "no JSON": framed(b"{not json"),
    "empty": framed(b""),
    "half a character": framed(b'{"jsonrpc":"2.0","method":"x","params":"\xc3"}'),
    "NUL": framed(b"\0" * 20),
    "a list": framed(b"[]"),
    "a batch": framed(b'[{"jsonrpc":"2.0","id":1,"method":"tierline/state/get"}]'),
    "a number": framed(b"7"),
    "null": framed(b"null"),
    "a string": framed(b'"hello"'),
    "no version": framed(b'{"id": 900, "method": "tierline/state/get"}'),
    "only a version": framed(b'{"jsonrpc": "2.0"}'),
    "method is a number": framed(b'{"jsonrpc": "2.0", "id": 901, "method": 7}'),
    "method is null": framed(b'{"jsonrpc": "2.0", "id": 902, "method": null}'),
    "id is a list": framed(b'{"jsonrpc": "2.0", "id": [1], "method": "tierline/state/get"}'),
    "id is an object": framed(b'{"jsonrpc": "2.0", "id": {}, "method": "tierline/state/get"}'),
    "id is true": framed(b'{"jsonrpc": "2.0", "id": true, "method": "tierline/state/get"}'),
    "an answer to nobody": framed(b'{"jsonrpc": "2.0", "id": 4711, "result": {}}'),
    "an error to nobody": framed(b'{"jsonrpc": "2.0", "id": 4712, "error": 5}'),
    "an answer and an error": framed(b'{"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}}'),
    "deep": framed(b"[" * 100_000 + b"]" * 100_000),
    "a header more": b"X-Strange: 1\r\n" + frame({"method": "$/nothing", "params": {}}),
    "a header of bytes": b"\xff\xfe\r\n" + frame({"method": "$/nothing", "params": {}}),
    "a line of nothing": b"\r\n\r\n",
    "length is no number": b"Content-Length: many\r\n\r\n",
    "negative length": b"Content-Length: -5\r\n\r\n",
    "a large number": framed(b'{"jsonrpc": "2.0", "id": 1e400, "method": "tierline/state/get"}'),
}


def test_frames_that_are_none(workspace: Path, model: WireServer) -> None:
    """Each is passed over; the requests before and behind it are answered."""
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        for name, data in BAD_FRAMES.items():
            pipe.write(data)
            try:
                works(pipe)
            except (AssertionError, BrokenPipeError) as error:
                raise AssertionError(f"after {name}: {error}\n{pipe.stderr}") from error
        assert pipe.request("tierline/budget/get")["used"] > 0
        assert "Traceback" not in pipe.stderr, pipe.stderr


WRONG: tuple[Any, ...] = (
    None,
    True,
    7,
    -1,
    1.5,
    "",
    "x",
    [],
    [1],
    {},
    {"text": 1},
    {"text": None},
    {"a": {"b": []}},
)


def test_wrong_types_for_every_method_are_answered_with_what_is_wrong(
    workspace: Path, model: WireServer
) -> None:
    """No request stays without an answer, none ends the server; errors are sentences."""
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        asked = {}
        for method in p.METHODS:
            for wrong in WRONG:
                number = f"{method.name} {json.dumps(wrong)}"
                asked[number] = method.name
                pipe.write(frame({"id": number, "method": method.name, "params": wrong}))
        for number in asked:
            answer = pipe.answer(number, 120)
            if "error" in answer:
                error = answer["error"]
                assert error["message"] and "Traceback" not in error["message"], answer
                assert error["code"] != -32603 or error.get("data", {}).get("code"), answer
        ids = [m["id"] for m in pipe.messages if "id" in m and "method" not in m]
        assert len(ids) == len(set(map(str, ids))), "one answer each"
        assert pipe.process.poll() is None
        assert pipe.junk == []
        pipe.request("tierline/state/get")
        assert "Traceback" not in pipe.stderr, pipe.stderr[-3000:]


def test_before_initialize_and_after_shutdown(workspace: Path, model: WireServer) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        early = pipe.post("tierline/chat/send", {"text": "Too early"})
        pipe.notify("textDocument/didOpen", {"textDocument": 5})
        pipe.notify("workspace/didChangeConfiguration", {"settings": 7})
        error = pipe.answer(early)["error"]
        assert error["code"] == -32002, "LSP: ServerNotInitialized"
        pipe.initialize()
        works(pipe)
        again = pipe.answer(pipe.post("initialize", {"processId": None, "capabilities": {}}))
        assert again["error"]["code"] == -32600, "LSP: initialize may only be sent once"
        works(pipe)
        pipe.request("shutdown")
        late = pipe.post("tierline/chat/send", {"text": "Too late"})
        assert pipe.answer(late)["error"]["code"] == -32600, "LSP: InvalidRequest"
        pipe.notify("exit")
        pipe.gone(5)
        assert pipe.process.returncode == 0
    assert model.requests == [], "neither was sent"


def test_cancelled_twice_and_cancelled_strangely(workspace: Path, model: WireServer) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        for number in range(20):
            asked = pipe.post("tierline/state/get", number=f"s{number}")
            pipe.notify("$/cancelRequest", {"id": asked})
            pipe.notify("$/cancelRequest", {"id": asked})
            answer = pipe.answer(asked)
            assert "result" in answer or answer["error"]["code"] == -32800, answer
        odd: tuple[Any, ...] = (None, [], {}, 1.5, "nobody", 10**30, True)
        for strange in odd:
            pipe.notify("$/cancelRequest", {"id": strange})
        pipe.notify("$/cancelRequest", 7)
        pipe.notify("$/cancelRequest")
        works(pipe)
        sent = pipe.request("tierline/chat/send", {"text": "Go."})
        for _ in range(3):
            pipe.request("tierline/chat/cancel", {"turnId": sent["turnId"]})
        pipe.until(lambda: pipe.events("turnFinished"))
        assert len(pipe.events("turnFinished")) == 1
        works(pipe)
        assert "Traceback" not in pipe.stderr, pipe.stderr


@pytest.mark.parametrize("size", [10_000_000])
def test_huge_messages(workspace: Path, model: WireServer, size: int) -> None:
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        pipe.write(frame({"id": "huge", "method": "tierline/nothing", "params": "x" * size}))
        assert pipe.answer("huge", 60)["error"]["code"] == -32601
        pipe.notify("textDocument/didOpen", {"textDocument": {
            "uri": (workspace / "big.py").as_uri(), "languageId": "python", "version": 1,
            "text": "x = 1\n" * (size // 12)}})  # fmt: skip
        works(pipe)


def test_documents_out_of_order(workspace: Path, model: WireServer) -> None:
    """Changes of documents that are not open, impossible ranges, closed twice, older versions."""
    uri = (workspace / "src" / "a.py").as_uri()
    place = {"line": 10**6, "character": 10**6}
    below = {"line": -1, "character": -1}
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()

        def change(version: Any, *changes: Any) -> None:
            pipe.notify(
                "textDocument/didChange",
                {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes},
            )

        change(1, {"text": "not open"})
        pipe.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        pipe.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
        for version in (5, 1):
            pipe.notify(
                "textDocument/didOpen",
                {"textDocument": {"uri": uri, "languageId": "python", "version": version,
                                  "text": "one\ntwo\n"}},
            )  # fmt: skip
        change(6, {"range": {"start": place, "end": place}, "text": "end"})
        change(2, {"range": {"start": place, "end": {"line": 0, "character": 0}}, "text": "?"})
        change(7, {"range": {"start": below, "end": below}, "text": "?"})
        change(None, {"text": 5})
        change("x", {"text": "x"}, {"rangeLength": "many", "text": "y"})
        change(8, {"text": "whole\n"})
        works(pipe)
        pipe.request("tierline/files/add", {"path": "src/a.py"})
        pipe.request("tierline/chat/send", {"text": "Go."})
        pipe.until(lambda: pipe.events("turnFinished"))
        assert "whole" in json.dumps(model.bodies[-1])
        for _ in range(2):
            pipe.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        for strange in ("", "file://", "untitled:", "http://[", "\0", "file:///%zz", "x" * 5000):
            pipe.notify("textDocument/didOpen", {"textDocument": {
                "uri": strange, "languageId": "", "version": 0, "text": ""}})  # fmt: skip
            pipe.notify("textDocument/didClose", {"textDocument": {"uri": strange}})
        assert pipe.request("tierline/files/list")["files"][0]["path"] == "src/a.py"
        assert pipe.process.poll() is None
        assert "Traceback" not in pipe.stderr, pipe.stderr


def scrambled(dice: random.Random, value: Any, depth: int = 0) -> Any:
    """The value with some parts replaced by others of any type."""
    if dice.random() < 0.15 or depth > 5:
        return dice.choice([*WRONG, 2**63, -(2**70), "\ud83d", "é" * 50, [[]], {"": ""}])
    if isinstance(value, dict):
        kept = {k: scrambled(dice, v, depth + 1) for k, v in value.items() if dice.random() > 0.1}
        if dice.random() < 0.1:
            kept[dice.choice(["id", "text", "extra", "kind"])] = dice.choice(WRONG)
        return kept
    if isinstance(value, list):
        return [scrambled(dice, v, depth + 1) for v in value]
    return value


VALUES: dict[str, tuple[Any, ...]] = {
    "str": (
        "",
        "x",
        "src/a.py",
        "../..",
        "full",
        "sk-ant-" + "a" * 40,
        "1",
        "/help",
        "é\ud83d",
        "%00",
    ),
    "int": (0, 1, -1, 7, 10**9, 2**63),
    "float": (0, 1.5, -1, 1e308),
    "bool": (True, False),
    "list": ([], ["x"], ["src/a.py", ""], [{}]),
    "dict": ({}, {"x": 1}),
}


def plausible(dice: random.Random, params: type) -> dict[str, Any]:
    """Parameters of the right names, mostly of the right types."""
    made: dict[str, Any] = {}
    for one in attrs.fields(params):
        kind = str(one.type)
        known = next(
            (k for k in ("list", "dict", "float", "bool", "int", "str") if k in kind), "str"
        )
        head, *rest = one.name.split("_")
        made[head + "".join(map(str.title, rest))] = dice.choice(VALUES[known])
    return made


def test_random_messages(workspace: Path, model: WireServer) -> None:
    """Good messages with parts replaced, in any order; the server goes on to answer."""
    dice = random.Random(SEED)
    uri = (workspace / "src" / "a.py").as_uri()
    methods = [m for m in p.METHODS if m.name not in ("tierline/provider/select",)]
    good: list[dict[str, Any]] = [
        {"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": uri, "languageId": "python", "version": 1, "text": "a\n"}}},
        {"method": "textDocument/didChange", "params": {"textDocument": {
            "uri": uri, "version": 2}, "contentChanges": [{"text": "b\n"}]}},
        {"method": "$/cancelRequest", "params": {"id": 1}},
        {"method": "workspace/didChangeWatchedFiles", "params": {"changes": [
            {"uri": uri, "type": 2}]}},
        {"method": "workspace/didRenameFiles", "params": {"files": [
            {"oldUri": uri, "newUri": uri + "x"}]}},
        {"method": "tierline/editor/part", "params": {"requestId": "r", "kind": "text"}},
        {"method": "workspace/didChangeWorkspaceFolders", "params": {
            "event": {"added": [], "removed": []}}},
    ]  # fmt: skip
    until = time.monotonic() + SECONDS
    count = 0
    with Pipe(workspace, env=environment(model)) as pipe:
        pipe.initialize()
        while time.monotonic() < until:
            for _ in range(25):
                count += 1
                if dice.random() < 0.5:
                    message = scrambled(dice, dice.choice(good))
                else:
                    method = dice.choice(methods)
                    params = plausible(dice, method.params)
                    if dice.random() < 0.5:
                        params = scrambled(dice, params)
                    message = {"method": method.name, "params": params}
                    message["id"] = f"f{count}"
                if not isinstance(message, dict):
                    message = {"value": message}
                data = frame(message)
                if dice.random() < 0.05:
                    body = bytearray(data.partition(b"\r\n\r\n")[2])
                    body[dice.randrange(len(body))] = dice.randrange(256)
                    data = framed(bytes(body))
                pipe.write(data)
            try:
                pipe.request("tierline/state/get", seconds=60)
            except (AssertionError, BrokenPipeError) as error:
                note = f"seed {SEED}, near message {count}: {error}\n{pipe.stderr[-3000:]}"
                raise AssertionError(note) from error
        assert pipe.junk == []
        assert "Traceback" not in pipe.stderr, pipe.stderr[-3000:]
        print(f"{count} messages in {SECONDS:.0f} s")
