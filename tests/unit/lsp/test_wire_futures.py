"""What is kept of messages that have been handled: nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

from tierline.lsp.server import build


async def test_no_future_of_a_handled_message_is_kept() -> None:
    """A notification may come at each key that is pressed, for weeks."""
    wire: Any = build().protocol
    ended: list[Any] = []

    def steps() -> Iterator[Any]:
        """As pygls' own handlers of documents are written."""
        yield (lambda: 1), (), {}

    async def later() -> None:
        await asyncio.sleep(0)

    def fails() -> Iterator[Any]:
        yield (lambda: 1), (), {}
        raise ValueError

    for number in range(5):
        for handler in (steps, later, fails, lambda: None):
            wire._execute_handler(f"{handler}{number}", handler, ended.append)
    await asyncio.sleep(0.05)
    assert len(ended) == 20, "each was handled, and its end was told"
    assert wire._request_futures == {}
