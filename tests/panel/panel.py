"""A chat panel: the protocol's own client library over stdio, with an editor's files behind it."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from acp import RequestError, schema
from acp.client import ClientSideConnection
from acp.helpers import text_block
from acp.stdio import spawn_agent_process

from support.warm import forking

EVERYTHING = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=True
)


class Panel:
    """What the agent is given, and a record of what it said."""

    def __init__(self) -> None:
        self.agent: ClientSideConnection = None  # type: ignore[assignment]
        self.updates: list[tuple[str, Any]] = []
        self.asked: list[tuple[schema.ToolCallUpdate, list[schema.PermissionOption]]] = []
        self.answers: list[str | None] = []
        """Option ids, in order; None stands for a question that was cancelled."""
        self.unsaved: dict[str, str] = {}
        self.read: list[str] = []
        self.written: dict[str, str] = {}
        self.refuse_writes = False
        self.terminals: dict[str, asyncio.subprocess.Process] = {}
        self.released: list[str] = []
        self._output: dict[str, bytes] = {}

    # --- the client's side of the protocol -------------------------------------------------------

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.updates.append((session_id, update))

    async def request_permission(
        self,
        session_id: str,
        tool_call: schema.ToolCallUpdate,
        options: list[schema.PermissionOption],
        **_: Any,
    ) -> schema.RequestPermissionResponse:
        self.asked.append((tool_call, options))
        while not self.answers:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        answer = self.answers.pop(0)
        if answer is None:
            denied = schema.DeniedOutcome(outcome="cancelled")
            return schema.RequestPermissionResponse(outcome=denied)
        chosen = schema.AllowedOutcome(outcome="selected", option_id=answer)
        return schema.RequestPermissionResponse(outcome=chosen)

    async def read_text_file(
        self, session_id: str, path: str, **_: Any
    ) -> schema.ReadTextFileResponse:
        self.read.append(path)
        if path in self.unsaved:
            return schema.ReadTextFileResponse(content=self.unsaved[path])
        try:
            text = await asyncio.to_thread(Path(path).read_text, encoding="utf-8")
            return schema.ReadTextFileResponse(content=text)
        except OSError as error:
            raise RequestError.resource_not_found(path) from error

    async def write_text_file(self, session_id: str, path: str, content: str, **_: Any) -> None:
        if self.refuse_writes:
            raise RequestError.internal_error({"detail": "read-only"})
        self.unsaved.pop(path, None)
        self.written[path] = content
        await asyncio.to_thread(_write, Path(path), content)

    async def create_terminal(
        self, session_id: str, command: str, args: Any = None, cwd: Any = None, **_: Any
    ) -> schema.CreateTerminalResponse:
        process = await asyncio.create_subprocess_exec(
            command, *(args or ()), cwd=cwd, stdout=asyncio.subprocess.PIPE
        )
        name = f"terminal-{len(self.terminals)}"
        self.terminals[name] = process
        return schema.CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> schema.WaitForTerminalExitResponse:
        process = self.terminals[terminal_id]
        assert process.stdout is not None
        self._output[terminal_id] = await process.stdout.read()
        return schema.WaitForTerminalExitResponse(exit_code=await process.wait())

    async def terminal_output(
        self, session_id: str, terminal_id: str, **_: Any
    ) -> schema.TerminalOutputResponse:
        code = self.terminals[terminal_id].returncode
        return schema.TerminalOutputResponse(
            output=self._output.get(terminal_id, b"").decode(),
            truncated=False,
            exit_status=None if code is None else schema.TerminalExitStatus(exit_code=code),
        )

    async def kill_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.terminals[terminal_id].kill()

    async def release_terminal(self, session_id: str, terminal_id: str, **_: Any) -> None:
        self.released.append(terminal_id)
        if self.terminals[terminal_id].returncode is None:
            self.terminals[terminal_id].kill()

    def on_connect(self, conn: Any) -> None: ...

    # --- looking at it ---------------------------------------------------------------------------

    async def say(self, session: str, *blocks: Any) -> schema.PromptResponse:
        """Send a prompt of texts and other blocks, and wait for its answer."""
        content = [text_block(block) if isinstance(block, str) else block for block in blocks]
        async with asyncio.timeout(60):
            return await self.agent.prompt(session_id=session, prompt=content)

    def of(self, kind: str, session: str = "") -> list[Any]:
        """The updates of one kind."""
        return [
            update
            for where, update in self.updates
            if update.session_update == kind and session in ("", where)
        ]

    def text(self, kind: str = "agent_message_chunk") -> str:
        """All text of one kind of chunk."""
        return "".join(getattr(update.content, "text", "") for update in self.of(kind))

    async def until(self, found: Callable[[], Any]) -> Any:
        """Wait for something to be so."""
        async with asyncio.timeout(30):
            while not (value := found()):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return value


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8", newline="")


@asynccontextmanager
async def connected(
    workspace: Path,
    env: dict[str, str],
    capabilities: schema.ClientCapabilities | None = EVERYTHING,
) -> AsyncIterator[Panel]:
    """A panel whose agent runs in a process of its own and has shaken hands."""
    clean = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    clean |= {
        "XDG_CONFIG_HOME": str(workspace / ".config"),
        "TIERLINE_DATA_DIR": str(workspace / ".data"),
        "TIERLINE_STATE_DIR": str(workspace.parent / ".state"),
        "TIERLINE_SYMBOLS_ENABLED": "false",
        **env,
    }
    panel = Panel()
    command: Sequence[str] = [sys.executable, "-m", "tierline", "acp"]
    async with AsyncExitStack() as stack:
        with forking():
            agent, _process = await stack.enter_async_context(
                spawn_agent_process(
                    panel,  # type: ignore[arg-type]
                    *command,
                    env=clean,
                    transport_kwargs={"limit": 50_000_000, "stderr": None},
                    use_unstable_protocol=True,
                )
            )
        panel.agent = agent
        await agent.initialize(protocol_version=1, client_capabilities=capabilities)
        yield panel
