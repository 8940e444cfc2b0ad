"""Requests from the server to the client: the editor's own language models, and saving."""

from __future__ import annotations

from typing import Any

from attrs import field

from tierline.protocol.base import define


@define
class EditorModelInfo:
    """A model that the editor offers to extensions."""

    id: str
    name: str = ""
    vendor: str = ""
    family: str = ""
    max_input_tokens: int = 0
    """0 if the editor does not say."""
    pictures: bool = False
    """The model can be shown pictures, and the editor passes them on."""


@define
class EditorModelsResult:
    """What the editor offers now."""

    models: list[EditorModelInfo] = field(factory=list)


@define
class EditorChatParams:
    """A request to one of the editor's models."""

    request_id: str
    model: str
    body: dict[str, Any]
    """Messages and tools in the form of OpenAI's Chat Completions."""


@define
class EditorChatResult:
    """The reply is whole: all its parts have been sent before this answer."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usage: dict[str, Any] = field(factory=dict)
    """The model's own report, in the form of Chat Completions or Messages, if it gave one."""


@define
class EditorPartParams:
    """A part of a reply: text, thinking, or a whole tool call."""

    request_id: str
    text: str = ""
    call_id: str = ""
    call_name: str = ""
    call_arguments: str = ""
    """The arguments of a tool call as JSON text."""
    thinking: str = ""


@define
class EditorCancelParams:
    """The reply is no longer wanted."""

    request_id: str
