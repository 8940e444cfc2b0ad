"""The private parts of pygls and lsprotocol that Tierline builds on: which, why, and as they are.

A new release that changes one of them fails here, before it fails in an editor. Then: compare the
part with what ``server/tierline/lsp/wire.py`` or the module named below makes of it, and write the
new digest down. ``upstream`` is what could be offered to the project, so that we need it no more.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from pathlib import Path

import pytest
from attrs import frozen

from tierline.lsp.server import build

SERVER = Path(__file__).parents[3] / "server" / "tierline"


@frozen
class Private:
    name: str
    where: str
    """Our module that uses it."""
    reason: str
    upstream: str
    digest: str = ""
    """Of a method's source: the beginning of its SHA-256. An attribute has none."""


PARTS = (
    Private(
        "pygls.protocol.json_rpc.JsonRPCProtocol._execute_handler",
        "lsp/wire.py",
        "Each notification leaves a future behind for ever: 2 KB for every key that is pressed.",
        "Drop the future of a notification when it is done.",
        "d08c9ac9995f",
    ),
    Private(
        "pygls.protocol.json_rpc.JsonRPCProtocol._send_handler_result",
        "lsp/wire.py",
        "An unexpected error is sent to the client with its stack.",
        "A hook that makes the error that is sent.",
        "38d95833f882",
    ),
    Private(
        "pygls.protocol.json_rpc.JsonRPCProtocol._handle_cancel_notification",
        "lsp/wire.py",
        "Cancelling what has finished is logged as a warning.",
        "Log it as a debug message.",
        "fa7c59a911cd",
    ),
    Private(
        "pygls.protocol.json_rpc.JsonRPCProtocol._send_data",
        "lsp/wire.py",
        "Before a client is connected, and after it has gone, sending logs an error.",
        "Say nothing while there is no writer.",
        "40e0a5bb7095",
    ),
    Private(
        "pygls.protocol.json_rpc.JsonRPCProtocol.structure_message",
        "lsp/wire.py",
        "A request that does not parse is never answered, and its text is logged.",
        "Answer with InvalidParams, and log no contents.",
        "ac66b961a32a",
    ),
    Private(
        "pygls.protocol.json_rpc.JsonRPCProtocol.handle_message",
        "lsp/wire.py",
        "Requests before initialize and after shutdown are carried out.",
        "Refuse them with ServerNotInitialized and InvalidRequest, as LSP asks for.",
        "d46f22474082",
    ),
    Private(
        "_request_futures",
        "lsp/wire.py",
        "Which requests run: to forget what has ended, and to know whether a cancel is late.",
        "Goes with the hooks above.",
    ),
    Private(
        "_result_types",
        "lsp/wire.py",
        "What a client's answer is parsed as.",
        "Goes with a structure_message that answers.",
    ),
    Private(
        "_converter",
        "lsp/server.py",
        "A command's argument is parsed like a request's parameters.",
        "A public name for it.",
    ),
    Private(
        "_shutdown",
        "lsp/wire.py",
        "Whether the client has said shutdown: the exit status depends on it.",
        "A public name for it.",
    ),
)


@pytest.mark.parametrize("part", [p for p in PARTS if "." in p.name], ids=lambda p: p.name)
def test_a_private_method_that_we_replace_is_as_it_was(part: Private) -> None:
    owner, _, name = part.name.rpartition(".")
    module, _, cls = owner.rpartition(".")
    source = inspect.getsource(getattr(getattr(importlib.import_module(module), cls), name))
    found = hashlib.sha256(source.encode()).hexdigest()[:12]
    assert found == part.digest, f"{part.name} has changed. We need it because: {part.reason}"


@pytest.mark.parametrize("part", [p for p in PARTS if "." not in p.name], ids=lambda p: p.name)
def test_a_private_attribute_that_we_read_is_there(part: Private) -> None:
    assert hasattr(build().protocol, part.name), part.reason


def test_the_switch_by_which_lsprotocol_resolves_its_names_is_there() -> None:
    """``protocol/deferred.py`` sets it, so that 550 classes are not completed at the start."""
    from lsprotocol import _hooks

    assert isinstance(_hooks._resolved_forward_references, bool)


@pytest.mark.parametrize("part", PARTS, ids=lambda p: p.name)
def test_each_part_that_is_listed_is_used(part: Private) -> None:
    assert part.name.rpartition(".")[2] in (SERVER / part.where).read_text(encoding="utf-8")
    assert part.upstream, "what could be offered to the project"
