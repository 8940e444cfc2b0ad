"""The command line's own help and its complaints, in the user's language.

What typer says by itself goes through gettext, or is translated here. The commands' texts stay
English until they are shown: the reference in the documentation is written from them.
"""

from __future__ import annotations

import gettext
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from tierline.localization.translator import (
    DOMAIN,
    FOLDER,
    from_environment,
    translate,
    translate_label,
    translator,
)

_UsageError: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "UsageError")


def begin(command: Any) -> None:
    """Put the help of a command, and of those below it, into the language of the environment."""
    if translator(from_environment(os.environ)) is None:
        return
    # Before typer's help is imported: its words are looked up then.
    gettext.bindtextdomain(DOMAIN, str(FOLDER))
    gettext.textdomain(DOMAIN)
    _speak(command)


class _Context(typer.Context):
    """Says "Usage" and what ``--help`` is for."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        option = self.command.get_help_option(self)
        if option is not None:
            option.help = translate(option.help or "")

    def make_formatter(self) -> Any:
        formatter = super().make_formatter()
        write = formatter.write_usage

        def write_usage(prog: str, args: str = "", prefix: str | None = None) -> None:
            write(prog, args, prefix or f"{translate_label('Usage:')} ")

        formatter.write_usage = write_usage  # type: ignore[method-assign]
        return formatter


def _speak(command: Any) -> None:
    command.context_class = _Context
    for name in ("help", "short_help", "epilog"):
        setattr(command, name, _paragraphs(getattr(command, name, None)))
    for parameter in command.params:
        if getattr(parameter, "help", None):
            parameter.help = _paragraphs(parameter.help)
    for below in getattr(command, "commands", {}).values():
        _speak(below)


def _paragraphs(text: str | None) -> str | None:
    """Each paragraph by itself; line breaks in one mean nothing."""
    if not text:
        return text
    parts = (" ".join(part.split()) for part in text.split("\n\n"))
    return "\n\n".join(part if part.startswith("$ ") else translate_label(part) for part in parts)


@contextmanager
def complaints() -> Iterator[None]:
    """What typer says of a wrong command line, in the user's language."""
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # it is the help, and spoken already
            raise
        said = translate(error.format_message())
        raise _UsageError(said, error.ctx) from None
