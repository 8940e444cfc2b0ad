"""What a network and a provider can do wrong, and what the user is then told: one table.

``test_faults_network.py`` runs each row through a real server in both wire formats;
``docs/reliability.md`` shows the same rows ("Network faults").
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any, Literal

from attrs import frozen

from wire.drive import begun, refusal, reply
from wire.scripts import a_end, a_event, o_chunk, o_data, o_end, text_error, then
from wire.servers import Cut, Endless, Hold, Kind, Reply, Reset

STALL, FIRST, RETRIES = 0.6, 2.5, 1
"""Seconds and attempts that the servers under test are given."""
LATER = "Wait a little, then retry."
CUT = "The connection closed before the reply was complete. Retry asks again."
AGAIN = " Trying again in 1 s (1 of 1)."
HTML = {"content-type": "text/html; charset=utf-8"}
JSON = {"content-type": "application/json"}
PAGE = b"<html><body><h1>502 Bad Gateway</h1><p>nginx</p></body></html>"
GZIP = {"content-encoding": "gzip"}
GOOD = ("One ", "two ", "three.")

Script = Callable[[Kind], list[Reply]]


@frozen
class Fault:
    """One row. ``{service}`` in a sentence is the name that the user knows the provider by."""

    name: str
    script: Script
    outcome: Literal["ok", "error", "interrupted"]
    code: str = ""
    told: str = ""
    """Sentence and advice of a failed turn, the note under one that was cut short, the notice
    beside one that is whole."""
    waits: tuple[str, ...] = ()
    """What is shown while the request waits for another attempt."""
    text: str = ""
    """What is kept of the reply."""
    requests: int = 1

    def __str__(self) -> str:
        return self.name.replace(" ", "-").replace(",", "")


def one(make: Callable[[Kind], Reply]) -> Script:
    return lambda kind: [make(kind)]


def fails_once(make: Callable[[Kind], Reply]) -> Script:
    return lambda kind: [make(kind), reply(kind, *GOOD)]


def ping(kind: Kind) -> bytes:
    return a_event("ping") if kind == "anthropic" else b": still here\n\n"


def empty_delta(kind: Kind) -> bytes:
    if kind == "openai":
        return o_chunk({"content": ""})
    return a_event("content_block_delta", index=0, delta={"type": "text_delta", "text": ""})


def wrong_types(kind: Kind) -> list[bytes]:
    """Events of the right names with values of other types; none of them says anything."""
    values: list[Any] = [None, True, -1, 1e308, "x", [], [[]], {}, {"type": []}]
    if kind == "openai":
        shapes: list[Any] = [
            *({"choices": v} for v in values),
            *({"choices": [v]} for v in values if v != "x"),  # a text is taken for what it says
            *(
                {"choices": [{"index": 0, "delta": v, "finish_reason": []}]}
                for v in values
                if v != "x"
            ),
            *({"choices": [{"delta": {"content": v}}]} for v in values if v != "x"),
            *({"choices": [], "usage": v} for v in values),
            *({"choices": [], "usage": {"prompt_tokens": v}} for v in values),
        ]
        return [o_data(shape) for shape in shapes]
    return [
        *(a_event("message_start", message=v) for v in values),
        *(a_event("message_start", message={"usage": {"input_tokens": v}}) for v in values),
        *(a_event("content_block_start", index=v, content_block=v) for v in values),
        *(a_event("content_block_delta", index=v, delta=v) for v in values),
        *(
            a_event("content_block_delta", index=0, delta={"type": "text_delta", "text": v})
            for v in values
            if v != "x"
        ),
        *(a_event("content_block_stop", index=v) for v in values),
        *(a_event("message_delta", delta=v, usage=v) for v in values),
        *(a_event(str(v)) for v in values),
    ]


def whole(kind: Kind, *before: bytes) -> list[bytes]:
    """A good reply behind some other bytes."""
    return [*before, *(part for part in reply(kind, *GOOD).body if isinstance(part, bytes))]


def ended(kind: Kind) -> list[bytes]:
    return a_end() if kind == "anthropic" else o_end()


def busy_in_the_middle(kind: Kind) -> Reply:
    error = {"type": "overloaded_error", "message": "Overloaded"}
    event = a_event("error", error=error) if kind == "anthropic" else o_data({"error": error})
    return then(begun(kind, "Half"), event)


def surrogates(kind: Kind) -> Reply:
    """Half of a pair, escaped: JSON allows it, UTF-8 does not. Then a pair in two events."""
    pieces = ("One ", "\ud83d", "\ud83d", "\ude42", "two three.")

    def event(text: str) -> bytes:
        if kind == "anthropic":
            delta = {"type": "text_delta", "text": text}
            value: Any = {"type": "content_block_delta", "index": 0, "delta": delta}
        else:
            value = {"choices": [{"index": 0, "delta": {"content": text}}]}
        return f"data: {json.dumps(value)}\n\n".encode()

    return Reply([*map(event, pieces), *ended(kind)])


def packed(kind: Kind) -> Reply:
    """Gzip whose first part is good; behind it stands a block of a type that there is not."""
    packer = zlib.compressobj(wbits=31)
    good = packer.compress(b"".join(begun(kind, "Half"))) + packer.flush(zlib.Z_SYNC_FLUSH)
    return Reply([good, b"\x07" + b"\xff" * 400], headers=GZIP)


STALLED = "{service} stopped sending in the middle of the reply (nothing for 0.6 s). "
SILENT = "{service} did not begin to reply (nothing for 2.5 s). "
PINGS = "(nothing but signs of life for 2.5 s). "
MORE_FIRST = "Retry, or allow more time (provider.first_byte_seconds)."
MORE_STALL = "Retry, or allow more time (provider.stall_seconds)."
BROKE = "{service} closed the connection before a reply came."
OVERLOADED = "{service} is overloaded (HTTP 529)"
LIMITED = "{service} limits the rate of requests: “slow down”."
GARBAGE = (
    "{service} sent a damaged reply: it cannot be decompressed. Retry; if it happens again, a "
    "proxy in between may be at fault."
)

FAULTS = [
    # --- silence
    Fault(
        "stall before the headers",
        one(lambda kind: Reply(before=Hold())),
        "error",
        "stalled",
        SILENT + MORE_FIRST,
    ),
    Fault(
        "stall behind the headers",
        one(lambda kind: Reply([Hold()])),
        "error",
        "stalled",
        SILENT + MORE_FIRST,
    ),
    Fault(
        "stall in the middle",
        one(lambda kind: then(begun(kind, "Half"), Hold())),
        "error",
        "stalled",
        STALLED + MORE_STALL,
        text="Half",
    ),
    Fault(
        "pings without end and nothing else",
        one(lambda kind: Reply([Endless(ping(kind), 0.05)])),
        "error",
        "stalled",
        "{service} did not begin to reply " + PINGS + MORE_FIRST,
    ),
    Fault(
        "pings without end in the middle",
        one(lambda kind: then(begun(kind, "Half"), Endless(ping(kind), 0.05))),
        "error",
        "stalled",
        "{service} stopped sending in the middle of the reply " + PINGS + MORE_FIRST,
        text="Half",
    ),
    Fault(
        "events without end that say nothing",
        one(lambda kind: then(begun(kind, "Half"), Endless(empty_delta(kind), 0.01))),
        "error",
        "stalled",
        "{service} stopped sending in the middle of the reply " + PINGS + MORE_FIRST,
        text="Half",
    ),
    Fault(
        "bytes without end that are no event",
        one(lambda kind: then(begun(kind, "Half"), Endless(b"x" * 50_000, 0.002))),
        "error",
        "stalled",
        "{service} stopped sending in the middle of the reply " + PINGS + MORE_FIRST,
        text="Half",
    ),
    # --- the connection breaks
    Fault(
        "reset before the headers",
        fails_once(lambda kind: Reply(before=Reset())),
        "ok",
        waits=(BROKE + AGAIN,),
        text="One two three.",
        requests=2,
    ),
    Fault(
        "closed before the headers, each time",
        one(lambda kind: Reply(before=Cut())),
        "error",
        "network",
        f"{BROKE} {LATER}",
        waits=(BROKE + AGAIN,),
        requests=2,
    ),
    Fault(
        "closed before any text",
        fails_once(lambda kind: then(begun(kind), Cut())),
        "ok",
        waits=(BROKE + AGAIN,),
        text="One two three.",
        requests=2,
    ),
    Fault(
        "an empty body",
        fails_once(lambda kind: Reply([])),
        "ok",
        waits=(BROKE + AGAIN,),
        text="One two three.",
        requests=2,
    ),
    Fault(
        "reset in the middle",
        one(lambda kind: then(begun(kind, "Half"), Reset())),
        "interrupted",
        told=CUT,
        text="Half",
    ),
    Fault(
        "cut in the middle of a chunk",
        one(lambda kind: then(begun(kind, "Half"), Cut())),
        "interrupted",
        told=CUT,
        text="Half",
    ),
    Fault(
        "a body shorter than its length",
        one(lambda kind: Reply(begun(kind, "Half"), length=100_000)),
        "interrupted",
        told=CUT,
        text="Half",
    ),
    Fault(
        "an end without the end event",
        one(lambda kind: Reply(begun(kind, "Half"))),
        "interrupted",
        told=CUT,
        text="Half",
    ),
    # --- damaged contents
    Fault(
        "wrong types in every field",
        one(lambda kind: Reply(whole(kind, *wrong_types(kind)))),
        "ok",
        text="One two three.",
    ),
    Fault(
        "only wrong types",
        one(lambda kind: Reply([*wrong_types(kind), *ended(kind)])),
        "error",
        "empty_reply",
        "The reply was empty. Retry, or ask in another way.",
    ),
    Fault(
        "an event that is no JSON",
        one(lambda kind: Reply(whole(kind, b"data: {oops\n\n"))),
        "ok",
        told="One damaged piece of the reply was skipped.",
        text="One two three.",
    ),
    Fault(
        "an event nested too deeply",
        one(lambda kind: Reply(whole(kind, b"data: " + b"[" * 100_000 + b"\n\n"))),
        "ok",
        told="One damaged piece of the reply was skipped.",
        text="One two three.",
    ),
    Fault("half of a character", one(surrogates), "ok", text="One \ufffd🙂two three."),
    Fault(
        "garbage that says it is gzip",
        one(lambda kind: Reply([b"\x00\x01garbage" * 40], headers=GZIP)),
        "error",
        "protocol",
        GARBAGE,
    ),
    Fault(
        "gzip that is damaged in the middle",
        one(packed),
        "error",
        "protocol",
        GARBAGE,
        text="Half",
    ),
    # --- other answers
    Fault(
        "an HTML page with 200",
        one(lambda kind: Reply([PAGE], headers=HTML)),
        "error",
        "protocol",
        "{service} answered with text/html where a stream of events was asked for. Check the base "
        "URL; OpenAI-compatible ones usually end in /v1.",
    ),
    Fault(
        "an HTML page without end",
        one(lambda kind: Reply([Endless(PAGE * 100, 0.001)], headers=HTML)),
        "error",
        "protocol",
        "{service} answered with text/html where a stream of events was asked for. Check the base "
        "URL; OpenAI-compatible ones usually end in /v1.",
    ),
    Fault(
        "an HTML page with 502",
        one(lambda kind: Reply([PAGE], 502, HTML)),
        "error",
        "unavailable",
        "{service} is failing (HTTP 502). " + LATER,
        waits=("{service} is failing (HTTP 502)." + AGAIN,),
        requests=2,
    ),
    Fault(
        "a JSON error with 200",
        one(
            lambda kind: Reply(
                [b'{"error": {"type": "authentication_error", "message": "no"}}'], headers=JSON
            )
        ),
        "error",
        "auth",
        "{service} did not accept the key (HTTP 401). Check the key, or set another one.",
    ),
    Fault(
        "400 in plain words",
        one(lambda kind: text_error("no such thing", 400)),
        "error",
        "bad_request",
        "{service} refused the request (HTTP 400): “no such thing”. Change what the answer "
        "names, or choose another model; your prompt is kept.",
    ),
    Fault(
        "401",
        one(lambda kind: refusal(kind, 401, "key test-key-of-nobody is bad")),
        "error",
        "auth",
        "{service} did not accept the key (HTTP 401). Check the key, or set another one.",
    ),
    Fault(
        "403",
        one(lambda kind: refusal(kind, 403, "not for you")),
        "error",
        "auth",
        "{service} does not let this key do that (HTTP 403). Check the key, or set another one.",
    ),
    Fault(
        "404, an unknown model",
        one(lambda kind: refusal(kind, 404, "model: mock-x")),
        "error",
        "bad_request",
        "{service} does not know this model or address: “model: mock-x”. Check the model's name "
        "and the base URL.",
    ),
    Fault(
        "a redirect to another host",
        one(lambda kind: Reply([], 307, {"location": "{elsewhere}"})),
        "error",
        "bad_request",
        "{service} points to another address (HTTP 307), which is not followed. Check the base "
        "URL.",
    ),
    # --- too much, too often
    Fault(
        "429 without retry-after",
        fails_once(lambda kind: refusal(kind, 429, "slow down")),
        "ok",
        waits=(LIMITED + AGAIN,),
        text="One two three.",
        requests=2,
    ),
    Fault(
        "429 with retry-after of a second",
        fails_once(lambda kind: refusal(kind, 429, "slow down", retry_after="1")),
        "ok",
        waits=(LIMITED + AGAIN,),
        text="One two three.",
        requests=2,
    ),
    Fault(
        "429 each time",
        one(lambda kind: refusal(kind, 429, "slow down")),
        "error",
        "rate_limited",
        f"{LIMITED} {LATER}",
        waits=(LIMITED + AGAIN,),
        requests=2,
    ),
    Fault(
        "429 with retry-after of an hour",
        one(lambda kind: refusal(kind, 429, "slow down", retry_after="3600")),
        "error",
        "rate_limited",
        LIMITED + " Retry in 60 minutes.",
    ),
    Fault(
        "529 once",
        fails_once(lambda kind: refusal(kind, 529, "Overloaded")),
        "ok",
        waits=(OVERLOADED + ": “Overloaded”." + AGAIN,),
        text="One two three.",
        requests=2,
    ),
    Fault(
        "529 each time",
        one(lambda kind: refusal(kind, 529, "Overloaded")),
        "error",
        "overloaded",
        OVERLOADED + f": “Overloaded”. {LATER}",
        waits=(OVERLOADED + ": “Overloaded”." + AGAIN,),
        requests=2,
    ),
    Fault(
        "overload in the middle",
        one(busy_in_the_middle),
        "error",
        "overloaded",
        OVERLOADED + f": “Overloaded”. {LATER}",
        text="Half",
    ),
]


# --- the page ------------------------------------------------------------------------------------

BEFORE = [
    (
        "nothing listens at the address",
        "OpenAI cannot be reached: nothing listens at api.example:443. Start the server or check "
        "the base URL, then retry.",
    ),
    (
        "the name is not known (DNS)",
        "OpenAI cannot be reached: the name api.example is not known. Check the network and the "
        "spelling of the base URL, then retry.",
    ),
    (
        "the proxy is not there",
        "The proxy proxy.example:3128 cannot be reached. Check HTTPS_PROXY and the network, or add "
        "api.example to NO_PROXY.",
    ),
    (
        "the proxy refuses",
        "The proxy proxy.example:3128 did not let the request through (407 Proxy Authentication "
        "Required). Check the address, user name and password in HTTPS_PROXY.",
    ),
    (
        "a certificate that nobody vouches for",
        "The certificate of api.example:443 is not trusted: self-signed certificate. Add your "
        "network's certificate authority to the system, or name its PEM file in network.ca_file or "
        "NODE_EXTRA_CA_CERTS.",
    ),
    (
        "https where only http is spoken",
        "api.example:443 does not answer with a secure connection (wrong version number). Check "
        "the port, and whether the base URL should begin with http instead of https.",
    ),
]
"""Faults before anything is sent; each has a test of its own."""


def table() -> str:
    """The rows as ``docs/reliability.md`` shows them."""
    lines = [
        "| fault | the turn | what the user reads | kept | requests |",
        "| --- | --- | --- | --- | --- |",
    ]
    for fault in FAULTS:
        waits = "".join(f"meanwhile “{wait.removesuffix(AGAIN)}” " for wait in fault.waits)
        told = (waits + (f"“{fault.told}”" if fault.told else "")).strip() or "nothing"
        told = told.replace("{service}", "OpenAI")
        kept = "the text so far" if fault.text == "Half" else "all" if fault.text else "–"
        lines.append(f"| {fault.name} | {fault.outcome} | {told} | {kept} | {fault.requests} |")
    lines += [f"| {name} | error | “{told}” | – | 0 |" for name, told in BEFORE]
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
