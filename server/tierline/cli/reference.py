"""Writes ``docs/cli.md``: every command with its options, examples and exit codes, from the code.

python -m tierline.cli.reference            # writes it into the folder docs
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer.main

from tierline.cli.common import EXIT_CODES
from tierline.cli.help import EXAMPLES
from tierline.cli.main import app

HEAD = """# Command line

<!-- Written by `make docs-gen`. Do not edit. -->

`tierline` works on the folder that `--root` names, else on the one that it is called in, and on the
same conversation, memos, pages and settings as the editor there. Data goes to standard output,
everything else (notices, progress bars, errors) to standard error. With `--json` data is one line
of JSON whose fields have the names of [the protocol](protocol.md). Where the output is no terminal
it has no colours, nor where `NO_COLOR` is set, and nothing is cut to a width.
"""
COMPLETION = """## Completion

| shell | in its profile |
| --- | --- |
| bash | `eval "$(tierline completion bash)"` |
| zsh | `eval "$(tierline completion zsh)"`, after `compinit` |
| fish | `tierline completion fish \\| source` |
| PowerShell | `tierline completion powershell \\| Out-String \\| Invoke-Expression` |
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD, "## Exit codes\n", "| code | meaning |", "| --- | --- |"]
    lines += [
        f"| {code} | {meaning.replace('|', chr(92) + '|')} |"
        for code, meaning in EXIT_CODES.items()
    ]
    lines += ["", COMPLETION]
    for name, command in leaves(typer.main.get_command(app)):
        lines += _command(name, command)
    return "\n".join(lines).rstrip() + "\n"


def leaves(command: Any, above: str = "") -> list[tuple[str, Any]]:
    """Every command that does something, with its name, in the order of ``--help``."""
    found = []
    for name, sub in command.commands.items():
        if hasattr(sub, "commands"):
            found += leaves(sub, f"{above}{name} ")
        elif not sub.hidden:
            found.append((above + name, sub))
    return found


def _command(name: str, command: Any) -> list[str]:
    lines = [f"## tierline {name}", "", str(command.help or ""), ""]
    if examples := EXAMPLES.get(name):
        lines += ["```sh", *examples, "```", ""]
    rows = []
    for parameter in command.params:
        if parameter.name == "help":
            continue
        if parameter.param_type_name == "argument":
            spelt = f"`{parameter.name.upper()}`"
        else:
            spelt = ", ".join(f"`{o}`" for o in (*parameter.opts, *parameter.secondary_opts))
        said = (getattr(parameter, "help", None) or "").replace("|", "\\|")
        rows.append(f"| {spelt} | {said} |")
    return [*lines, "| | |", "| --- | --- |", *rows, ""] if rows else lines


def main() -> None:
    """Write the page into the folder ``docs`` of the working directory, or into a given one."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    (folder / "cli.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
