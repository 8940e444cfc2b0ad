"""The agent: answers the client's requests, one chat for each of its sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError, schema

from tierline import __version__
from tierline import protocol as p
from tierline.acp.chat import AcpChat
from tierline.acp.options import EDIT_MODES, EDITS
from tierline.acp.workbench import ClientAbilities
from tierline.errors import TierlineError
from tierline.localization.translator import translate
from tierline.mcpservers.definitions import ServerDefinition
from tierline.providers.registry import SPECS
from tierline.session.handlers import HANDLERS

log = logging.getLogger(__name__)

KEYS = {row.name: (row.title, row.key_variable) for row in SPECS if row.automatic}
"""Providers' names, and the environment variables that make them usable."""
PAGE = 100
"""Sessions on one page of a list."""
OFFER_SECONDS = 0.05
"""Delay of updates after a session's answer: a client drops updates of a session that it does not
know yet.
"""
_INVALID, _INTERNAL = -32602, -32603
_CODES = {
    "empty_prompt": _INVALID,
    "invalid_params": _INVALID,
    "no_provider": -32000,  # the protocol's "authentication required"
    "not_found": -32002,  # the protocol's "resource not found"
    "not_sendable": _INVALID,
}


class TierlineAgent:
    """Implements ``acp.Agent``. Errors are the protocol's (``RequestError``), with a sentence and
    advice.
    """

    def __init__(self) -> None:
        self._client: Client | None = None
        self._abilities = ClientAbilities()
        self._chats: dict[str, AcpChat] = {}

    def on_connect(self, conn: Client) -> None:
        """Called when the client has connected."""
        self._client = conn

    async def close(self) -> None:
        """Called when the client has gone: store the state and stop."""
        chats, self._chats = list(self._chats.values()), {}
        await asyncio.gather(*(chat.close() for chat in chats), return_exceptions=True)

    # --- connection ------------------------------------------------------------------------------

    async def initialize(
        self,
        protocol_version: int,  # noqa: ARG002
        client_capabilities: schema.ClientCapabilities | None = None,
        client_info: schema.Implementation | None = None,
        **_: Any,
    ) -> schema.InitializeResponse:
        """Agree on a version and say what Tierline can do."""
        self._abilities = ClientAbilities.of(client_capabilities)
        if client_info is not None:
            log.info("Client %s %s", client_info.name, client_info.version)
        methods: list[Any] = [
            schema.EnvVarAuthMethod(
                id=key,
                name=translate(f"API key of {name}"),
                description=translate(f"Set {variable} in the agent's environment."),
                type="env_var",
                vars=[schema.AuthEnvVar(name=variable, secret=True)],
            )
            for key, (name, variable) in KEYS.items()
        ]
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,  # the only version, whatever was requested
            agent_info=schema.Implementation(
                name="tierline", title="Tierline", version=__version__
            ),
            auth_methods=methods,
            agent_capabilities=schema.AgentCapabilities(
                load_session=True,
                mcp_capabilities=schema.McpCapabilities(http=True),
                prompt_capabilities=schema.PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=schema.SessionCapabilities(
                    list=schema.SessionListCapabilities(),
                    resume=schema.SessionResumeCapabilities(),
                    close=schema.SessionCloseCapabilities(),
                    additional_directories=schema.SessionAdditionalDirectoriesCapabilities(),
                ),
            ),
        )

    async def authenticate(self, method_id: str, **_: Any) -> schema.AuthenticateResponse:
        """Accept a known method and do nothing: keys come from the environment."""
        if method_id not in KEYS:
            raise RequestError.invalid_params({"detail": f"There is no method {method_id!r}."})
        return schema.AuthenticateResponse()

    # --- sessions --------------------------------------------------------------------------------

    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **_: Any,
    ) -> schema.NewSessionResponse:
        """Begin a conversation in a workspace."""
        chat, _state = await self._open(cwd, additional_directories, mcp_servers)
        return schema.NewSessionResponse(
            session_id=chat.session_id, modes=chat.modes(), config_options=await chat.options()
        )

    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: Sequence[Any] | None = None,
        additional_directories: list[str] | None = None,
        **_: Any,
    ) -> schema.LoadSessionResponse:
        """Continue a conversation; it is shown again before this is answered."""
        chat, state = await self._open(cwd, additional_directories, mcp_servers, session_id)
        chat.replay(state.messages)
        await chat.drained()
        return schema.LoadSessionResponse(modes=chat.modes(), config_options=await chat.options())

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: Sequence[Any] | None = None,
        **_: Any,
    ) -> schema.ResumeSessionResponse:
        """Continue a conversation that the client shows already."""
        chat, _state = await self._open(cwd, additional_directories, mcp_servers, session_id)
        return schema.ResumeSessionResponse(modes=chat.modes(), config_options=await chat.options())

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> schema.ListSessionsResponse:
        """Conversations of a workspace, or of all that are open here; the newest first."""
        first = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() else 0
        folders = [_folder(cwd)] if cwd else list({chat.root for chat in self._chats.values()})
        found: list[schema.SessionInfo] = []
        for folder in folders:
            listed = await _sessions(folder, first + PAGE + 1)
            found += [_listed(one, folder) for one in listed]
        page = found[first : first + PAGE]
        more = str(first + PAGE) if len(found) > first + PAGE else None
        return schema.ListSessionsResponse(sessions=page, next_cursor=more)

    async def close_session(self, session_id: str, **_: Any) -> schema.CloseSessionResponse:
        """Stop running work of a conversation and release it; it stays in the history."""
        chat = self._chat(session_id)
        del self._chats[session_id]
        await chat.close()
        return schema.CloseSessionResponse()

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> schema.SetSessionModeResponse:
        """Set whether edits are asked about or applied at once."""
        if mode_id not in EDIT_MODES:
            raise RequestError.invalid_params({"detail": f"There is no mode {mode_id!r}."})
        with _as_protocol_errors():
            await self._chat(session_id).choose(EDITS, mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> schema.SetSessionConfigOptionResponse:
        """Set one of the options. Returns all of them."""
        chat = self._chat(session_id)
        with _as_protocol_errors():
            await chat.choose(config_id, str(value))
        return schema.SetSessionConfigOptionResponse(config_options=await chat.options())

    # --- turns -----------------------------------------------------------------------------------

    async def prompt(
        self, session_id: str, prompt: Sequence[Any], **_: Any
    ) -> schema.PromptResponse:
        """Answer a prompt; events meanwhile are sent as updates."""
        chat = self._chat(session_id)
        with _as_protocol_errors():
            return await chat.prompt(prompt)

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop the turn at once; the prompt is answered with ``cancelled``."""
        if (chat := self._chats.get(session_id)) is not None:
            await chat.cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """There are no extensions."""
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """There are no extensions."""

    async def _open(
        self,
        cwd: str,
        more: Sequence[str] | None,
        mcp_servers: Sequence[Any] | None,
        session_id: str = "",
    ) -> tuple[AcpChat, p.State]:
        assert self._client is not None
        folders = [_folder(cwd), *(_folder(one) for one in more or ())]
        if (held := self._chats.pop(session_id, None)) is not None:  # one chat has one owner
            await held.close()
        chat = AcpChat(self._client, self._abilities)
        try:
            with _as_protocol_errors():
                servers = [_server(given) for given in mcp_servers or ()]
                state = await chat.open(folders, session_id, servers)
        except BaseException:
            await chat.close()
            raise
        self._chats[chat.session_id] = chat
        asyncio.get_running_loop().call_later(OFFER_SECONDS, chat.begun)
        return chat, state

    def _chat(self, session_id: str) -> AcpChat:
        chat = self._chats.get(session_id)
        if chat is None:
            raise RequestError.resource_not_found(session_id)
        return chat


@contextmanager
def _as_protocol_errors() -> Iterator[None]:
    """Convert Tierline's errors to the protocol's: the sentence and the advice."""
    try:
        yield
    except TierlineError as error:
        data = {"code": error.code, "advice": translate(error.advice)}
        sentence = translate(f"{error.message} {error.advice}".strip())
        code = _CODES.get(error.code, _INTERNAL)
        raise RequestError(code, sentence, data) from error


def _folder(cwd: str) -> Path:
    folder = Path(cwd)
    if not folder.is_absolute() or not folder.is_dir():
        raise RequestError(
            _INVALID, f"{cwd!r} is not a folder's absolute path. Open a folder first.", None
        )
    return folder.resolve()


async def _sessions(folder: Path, limit: int) -> list[p.SessionInfo]:
    """A workspace's conversations, at most ``limit``; nothing is written."""
    from tierline.session.session import Session

    session = Session(
        [(folder.name, folder.as_uri())],
        editor_settings={"history": {"restore": False}},
        publish=lambda _event: None,
        read_only=True,
    )
    await session.start()
    try:
        params = p.SessionListParams(limit)
        found = await HANDLERS["tierline/history/listSessions"](session, params)
    finally:
        await session.close()
    return list(found.sessions)


def _listed(one: p.SessionInfo, folder: Path) -> schema.SessionInfo:
    return schema.SessionInfo(
        session_id=one.session_id,
        cwd=str(folder),
        title=one.title or " ".join(one.preview.split()) or None,
        updated_at=one.timestamp,
    )


def _server(given: Any) -> ServerDefinition:
    if isinstance(given, schema.McpServerStdio):
        env = {variable.name: variable.value for variable in given.env}
        return ServerDefinition(given.name, (given.command, *given.args), env)
    if isinstance(given, schema.McpServerHttp):
        headers = {header.name: header.value for header in given.headers}
        return ServerDefinition(given.name, url=given.url, headers=headers)
    raise RequestError(
        _INVALID, f"The MCP server {given.name!r} is neither stdio nor http. Leave it out.", None
    )
