"""Instruction files: AGENTS.md and its like."""

from __future__ import annotations

from typing import Literal

from attrs import field

from tierline.protocol.base import define


@define
class InstructionInfo:
    """A file of instructions for assistants, of the project or the user's own."""

    key: str
    name: str
    """Its path in the workspace; the user's own begin with ``~/``."""
    kind: Literal["agents", "claude", "gemini", "copilot", "cursor", "cline", "user"]
    uri: str
    tokens: int
    """As it is sent, or would be."""
    enabled: bool
    """False: the user switched it off."""
    active: bool
    """It is part of the next request."""
    why: str = ""
    """Why it is not; empty if it is."""
    folder: str = ""
    """It is for files of this folder."""
    globs: list[str] = field(factory=list)
    """It is for files that fit one of these."""
    description: str = ""
    imports: list[str] = field(factory=list)
    """Files that it brings along."""
    notices: list[str] = field(factory=list)
    """What of it is not sent, and why."""
    tier: str = ""
    """Stability tier in the last plan."""


@define
class InstructionsResult:
    """The instruction files that there are."""

    files: list[InstructionInfo]


@define
class InstructionSwitchParams:
    """Use a file, or leave it out, in this workspace from now on."""

    key: str
    enabled: bool
