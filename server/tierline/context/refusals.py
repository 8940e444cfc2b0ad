"""Why a file is not in the prompt: a stable code, what happened, what to do."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen

from tierline.context.display import shown_name


class Reason(StrEnum):
    """Stable codes. Clients and tests may rely on the values."""

    OUTSIDE_WORKSPACE = "outside_workspace"
    NOT_FOUND = "not_found"
    NOT_A_FILE = "not_a_file"
    LINK_LOOP = "link_loop"
    AMBIGUOUS = "ambiguous_path"
    INVALID_PATH = "invalid_path"
    UNSUPPORTED_SCHEME = "unsupported_scheme"
    IGNORED = "ignored"
    SECRET = "secret"  # noqa: S105 - a reason code
    BINARY = "binary"
    IS_IMAGE = "is_image"
    BAD_IMAGE = "bad_image"
    TOO_LARGE = "too_large"
    UNDECODABLE = "undecodable"
    UNREADABLE = "unreadable"
    CHANGED_WHILE_READING = "changed_while_reading"
    SHED = "over_budget"


_TEXTS: dict[Reason, tuple[str, str]] = {
    Reason.OUTSIDE_WORKSPACE: (
        "{name} lies outside the workspace{detail}.",
        "Open its folder in the workspace, or copy the file into it.",
    ),
    Reason.NOT_FOUND: ("{name} does not exist{detail}.", "Check the name, or remove the entry."),
    Reason.NOT_A_FILE: ("{name} is not a regular file{detail}.", "Add a file or a folder."),
    Reason.LINK_LOOP: ("{name} is a link that leads back to itself.", "Mend or remove the link."),
    Reason.AMBIGUOUS: (
        "{name} exists in several workspace folders{detail}.",
        "Write the folder's name in front of the path.",
    ),
    Reason.INVALID_PATH: ("{name} is not a usable path{detail}.", "Check the path."),
    Reason.UNSUPPORTED_SCHEME: (
        "{name} is not a file on this machine{detail}.",
        "Save it in the workspace first.",
    ),
    Reason.IGNORED: (
        "{name} is excluded by an ignore rule{detail}.",
        "Confirm to add it all the same.",
    ),
    Reason.SECRET: (
        "{name} looks like a file of secrets{detail}.",
        "Confirm only if the model may see what it holds.",
    ),
    Reason.BINARY: ("{name} is not text{detail}.", "Add a text file or a picture."),
    Reason.IS_IMAGE: ("{name} is a picture{detail}.", "Attach it to the prompt as a picture."),
    Reason.BAD_IMAGE: ("{name} cannot be sent as a picture{detail}.", "Attach another picture."),
    Reason.TOO_LARGE: (
        "{name} is too large{detail}.",
        "Add a part of it as a file of its own, or raise context.max_file_bytes.",
    ),
    Reason.UNDECODABLE: (
        "The text encoding of {name} is unknown{detail}.",
        "Open it in the editor with the right encoding, or save it as UTF-8.",
    ),
    Reason.UNREADABLE: ("{name} cannot be read{detail}.", "Check its permissions."),
    Reason.CHANGED_WHILE_READING: ("{name} was replaced while it was being read.", "Try again."),
    Reason.SHED: (
        "{name} was left out to stay within the model's window{detail}.",
        "Remove other files, pin this one, or choose a model with a larger window.",
    ),
}

CONFIRMABLE = frozenset({Reason.IGNORED, Reason.SECRET})
"""Reasons that the user may override, after a warning."""


@frozen
class Refusal:
    """A file that was refused.

    ``name`` is the key, or the reference as it was given if it leads to no key.
    """

    name: str
    reason: Reason
    message: str
    advice: str

    @property
    def confirmable(self) -> bool:
        """True if asking again with confirmation would take the file."""
        return self.reason in CONFIRMABLE

    @property
    def sentence(self) -> str:
        """What happened and what to do."""
        return f"{self.message} {self.advice}"


def refuse(name: str, reason: Reason, detail: str = "") -> Refusal:
    """A refusal with the reason's sentences. ``detail`` is put in brackets after the fact."""
    message, advice = _TEXTS[reason]
    shown = f" ({shown_name(detail)})" if detail else ""
    return Refusal(name, reason, message.format(name=shown_name(name), detail=shown), advice)
