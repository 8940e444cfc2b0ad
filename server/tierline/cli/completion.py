"""``tierline completion``: the script that completes commands and options in a shell."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tierline.cli.common import write

app = typer.Typer()


class Shell(StrEnum):
    """Shells that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"
    POWERSHELL = "powershell"


@app.command()
def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
    """Print a completion script: `eval "$(tierline completion bash)"` in your shell's profile."""
    from typer._completion_shared import get_completion_script

    script = get_completion_script(
        prog_name="tierline", complete_var="_TIERLINE_COMPLETE", shell=shell.value
    )
    write(script)
