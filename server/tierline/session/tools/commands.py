"""``run_command``: asked about each time, unless the user has allowed this very command here.

Allowed commands are kept in the user's own data folder, by workspace and whole argument list.
Nothing in a workspace can add to them: a repository must not be able to permit itself to run
something.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, field

from tierline import disk
from tierline import protocol as p
from tierline.context.display import visible_text
from tierline.context.prompt import ToolSpec
from tierline.disk import locks
from tierline.disk.folder import make
from tierline.session.consents import ConsentDecision, ConsentService
from tierline.session.events import EventBus
from tierline.session.snapshots.service import SnapshotService
from tierline.session.state.preferences import Preferences
from tierline.session.tools.toolbox import ToolService
from tierline.session.workbench import TerminalCommand, Workbench
from tierline.store.memos import user_folder
from tierline.tools.registry import Call, Consent, Tool, ToolOutput
from tierline.tools.running import CommandEnd, run
from tierline.workspace.paths import Roots
from tierline.workspace.reading import identify

log = logging.getLogger(__name__)

_MAX_BYTES = 10_000_000

FILE = "allowed-commands.json"
MAX_COMMAND_LENGTH = 4000
"""Characters of a command: the user must be able to read all of it."""

RUN_COMMAND = ToolSpec(
    name="run_command",
    description=(
        "Run a command in the workspace's root folder: tests, builds, linters. The user is asked "
        "first. Give `argv`, the program and its arguments as a list; no shell is involved. Only "
        "if a shell is needed (pipes, redirection) give `shell`, one line. No input can be given. "
        "Returns the exit code and the output."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "argv": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 200},
            "shell": {"type": "string", "minLength": 1, "maxLength": MAX_COMMAND_LENGTH},
        },
    },
)


class AllowList:
    """Allowed commands by workspace, in the user's data folder. Blocking."""

    def __init__(self, root: str, folder: Path | None = None) -> None:
        self._root = os.path.realpath(root)
        self._path = disk.resolved((folder or user_folder()) / FILE)

    def commands(self) -> list[list[str]]:
        """The argument lists that are allowed in this workspace."""
        found = self._read().get(self._root, [])
        return [list(argv) for argv in found] if isinstance(found, list) else []

    def add(self, argv: Sequence[str]) -> None:
        """Allow a command."""
        self._change([*(a for a in self.commands() if a != list(argv)), list(argv)])

    def forget(self, argv: Sequence[str]) -> None:
        """Withdraw a permission; all of them if ``argv`` is empty."""
        self._change([a for a in self.commands() if argv and a != list(argv)])

    def _read(self) -> dict[str, Any]:
        try:
            value = json.loads(disk.read_text(self._path, _MAX_BYTES))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            log.warning("The list of allowed commands was not read: %s", error)
            return {}
        if not isinstance(value, dict):
            return {}
        return {
            root: [a for a in listed if isinstance(a, list) and all(isinstance(x, str) for x in a)]
            for root, listed in value.items()
            if isinstance(listed, list)
        }

    def _change(self, commands: list[list[str]]) -> None:
        make(self._path.parent)
        with locks.lock(self._path.with_suffix(".lock"), seconds=5):
            value = {**self._read(), self._root: commands}
            disk.replace(self._path, json.dumps(value, indent=1).encode(), mode=0o600)


@define(eq=False, repr=False, slots=False)
class CommandService:
    """Asks, runs, and reports."""

    _bus: EventBus
    _preferences: Preferences
    _roots: Roots
    _tools: ToolService
    _consents: ConsentService
    _workbench: Workbench
    _snapshots: SnapshotService
    tool: Tool = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.tool = Tool(RUN_COMMAND, self._run, Consent.COMMAND, title=_title)

    # --- requests --------------------------------------------------------------------------------

    async def allowed(self, _params: p.NoParams) -> p.AllowedCommands:
        """Commands that run here without being asked about."""
        return p.AllowedCommands(await asyncio.to_thread(self._list().commands))

    async def forget(self, params: p.ForgetCommandParams) -> p.AllowedCommands:
        """Withdraw a permission, so that the user is asked again."""
        await asyncio.to_thread(self._list().forget, params.argv)
        return await self.allowed(p.NoParams())

    # --- the tool --------------------------------------------------------------------------------

    async def _run(self, call: Call) -> ToolOutput:
        command = _command(call.arguments)
        root = self._roots.primary
        problem = self._unfit(command)
        if problem or command is None or root is None:
            return ToolOutput(problem, error=True, note="not run")
        looked = await asyncio.to_thread(identify, str(root), command)
        decision = await self._consent(call, command, str(root))
        if not decision.allowed:
            why = f" Reason: {decision.reason}" if decision.reason else ""
            return ToolOutput(
                f"Not run: the user did not allow this command.{why}",
                error=True,
                note="not allowed",
            )
        # The answer may have taken minutes: check again.
        if changed := await asyncio.to_thread(looked.changed):
            problem = (
                f"Not run: {visible_text(changed)} is not what it was when the user was asked."
            )
        if problem := problem or self._unfit(command):
            return ToolOutput(problem, error=True, note="not run")
        self._tools.running(call)
        settings = self._preferences.settings.tools
        limit, seconds = settings.command_output_chars, settings.command_seconds

        async def work() -> CommandEnd:
            ended = await self._workbench.run(
                TerminalCommand(command, str(root), seconds, limit, call.id)
            )
            if ended is None:
                ended = await run(command, str(root), seconds=seconds, most_characters=limit)
            return ended

        what = command if isinstance(command, str) else shown(command)
        return report(await self._snapshots.around(call.turn_id, what, work()), seconds)

    def _unfit(self, command: Sequence[str] | str | None) -> str:
        """Why a command cannot be run, so that the user need not be asked; empty if it can."""
        if command is None:
            return "Give either `argv` or `shell`."
        if sum(map(len, command)) > MAX_COMMAND_LENGTH:
            return (
                f"Not run: it is longer than {MAX_COMMAND_LENGTH} characters, which nobody would "
                "read. Run a file of the workspace instead."
            )
        trusted = self._preferences.settings.tools.workspace_trusted
        if self._roots.primary is None or not trusted:
            return "Not run: no trusted folder is open."
        if any("\0" in part for part in command):
            return "Not run: a NUL character is in it."
        return ""

    async def _consent(
        self, call: Call, command: Sequence[str] | str, root: str
    ) -> ConsentDecision:
        exact = command if isinstance(command, str) else shown(command)
        rememberable = not isinstance(command, str)
        if rememberable and list(command) in await asyncio.to_thread(self._list().commands):
            return ConsentDecision("always")
        settings = self._preferences.settings.tools
        folder = visible_text(Path(root).name or root)
        through = " by the shell" if isinstance(command, str) else ""
        self._tools.is_asking(call)
        decision = await self._consents.ask_user(
            "command",
            "Run this command?",
            visible_text(exact),
            f"In {folder}{through}, for {settings.command_seconds:g} s at most.",
            turn_id=call.turn_id,
            call_id=call.id,
            can_remember=rememberable,
        )
        if decision.answer == "always" and rememberable:
            try:
                await asyncio.to_thread(self._list().add, command)
            except OSError as error:
                text = f"The command was not remembered: {error}"
                self._bus.notice("warning", text, "storage")
        return decision

    def _list(self) -> AllowList:
        return AllowList(str(self._roots.primary or "."))


def shown(argv: Sequence[str]) -> str:
    """An argument list as unambiguous text for the user."""
    if sys.platform == "win32":
        import subprocess

        return subprocess.list2cmdline(argv)
    return shlex.join(argv)


def report(ended: CommandEnd, seconds: float) -> ToolOutput:
    """The result of the call."""
    if ended.error:
        return ToolOutput(
            f"The command could not be started: {ended.error}.", True, note="not started"
        )
    body = ended.output.rstrip() or "(no output)"
    if ended.timed_out:
        head = f"Stopped after {seconds:g} s (tools.command_seconds)."
        return ToolOutput(f"{head} Output so far:\n{body}", error=True, note="timed out")
    if ended.code is None:  # an editor's terminal gives no code after a signal
        return ToolOutput(f"Ended without an exit code.\n{body}", error=True, note="no exit code")
    note = f"exit code {ended.code}"
    return ToolOutput(f"Exit code {ended.code}.\n{body}", error=ended.code != 0, note=note)


def _command(arguments: Mapping[str, Any]) -> list[str] | str | None:
    if ("argv" in arguments) == ("shell" in arguments):
        return None
    return str(arguments["shell"]) if "shell" in arguments else list(arguments["argv"])


def _title(arguments: Mapping[str, Any]) -> str:
    command = _command(arguments)
    if command is None:
        return ""
    return visible_text(command if isinstance(command, str) else shown(command))
