"""A reply in the terminal, as it comes."""

from __future__ import annotations

import asyncio

from tierline import protocol as p
from tierline.cli.common import EXIT_NO_PROVIDER, EXIT_PROBLEM, format_money, print_json, say, write


async def print_reply(events: asyncio.Queue[p.Event], turn_id: str, as_json: bool) -> int:
    """Print the turn's events as they come. Returns the exit code."""
    while True:
        body = (await events.get()).body
        match body:
            case p.TurnStarted() if body.context_line and not as_json:
                say(body.context_line, "dim")
            case p.Waiting() if not as_json:
                say(body.text, "dim")
            case p.TextDelta(turn_id=turn, text=text) if turn == turn_id and not as_json:
                write(text, end="")
            case p.Notice() if body.turn_id == turn_id or body.level != "info":
                say(body.text, "yellow")
            case p.TurnFinished(turn_id=turn) if turn == turn_id:
                return _print_end(body, as_json)


def _print_end(body: p.TurnFinished, as_json: bool) -> int:
    if as_json:
        print_json(body)
    elif body.message is not None:
        write("")
    if body.usage is not None and not as_json:
        usage = body.usage
        several = f"{usage.requests} requests, " if usage.requests > 1 else ""
        cost = f", {format_money(usage.cost)}" if usage.cost else ""
        read = usage.cache_read_tokens
        cached = "" if read is None else f" ({read:,} from cache)"
        say(
            f"{several}{usage.input_tokens:,} tokens in{cached}, {usage.output_tokens:,} out{cost}",
            "dim",
        )
    if body.cache is not None and body.cache.outcome in ("partial", "miss") and not as_json:
        say(body.cache.sentence, "dim")
    if body.outcome == "ok":
        return 0
    if body.error:
        say(f"{body.error} {body.advice}".strip(), "red")
    return EXIT_NO_PROVIDER if body.code == "no_provider" else EXIT_PROBLEM
