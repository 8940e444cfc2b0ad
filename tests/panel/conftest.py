"""An agent behind a chat panel, in the workspace and before the model of ``tests/lsp``."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest_asyncio

from lsp.conftest import environment, model, start, workspace
from panel.panel import Panel, connected
from wire.servers import WireServer

__all__ = ["Open", "model", "start", "workspace"]

Open = Callable[..., Awaitable[Panel]]


@pytest_asyncio.fixture
async def panel(workspace: Path) -> AsyncIterator[Open]:
    """``await panel(server)``: a panel whose agent asks that model."""
    async with AsyncExitStack() as stack:

        async def begin(server: WireServer, **more: Any) -> Panel:
            env = environment(server) | more.pop("env", {})
            return await stack.enter_async_context(connected(workspace, env, **more))

        yield begin
