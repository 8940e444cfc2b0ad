"""Writes ``docs/cli.md``: exit codes, and every command with its options and examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer.main

from tierline.cli.common import (
    EXIT_INTERRUPTED,
    EXIT_NO_PROVIDER,
    EXIT_PROBLEM,
    EXIT_READER_GONE,
    EXIT_USAGE,
)
from tierline.cli.help import EXAMPLES
from tierline.cli.main import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli.md"
HEAD = """# Command line

<!-- Written by `make docs-gen`. Do not edit. -->

`tierline` works on the folder that `--root` names, else on the one that it is called in, and on the
same conversation, memos, pages and settings as the editor there. Data goes to standard output,
everything else (notices, progress bars, errors) to standard error. With `--json` data is one line
of JSON whose fields have the names of [the protocol](protocol.md). Where the output is no terminal
it has no colours, nor where `NO_COLOR` is set, and nothing is cut to a width.
"""
EXIT_CODES = {
    0: "done, and nothing is wrong",
    EXIT_PROBLEM: "it failed, or a problem was found, or what was named is not there",
    EXIT_USAGE: "the command line is wrong",
    EXIT_NO_PROVIDER: "there is no language model to ask (no key, no server, no embedded model)",
    EXIT_INTERRUPTED: "stopped with Ctrl-C; a reply is kept as far as it came",
    EXIT_READER_GONE: "whoever read the output closed it (`tierline … | head`)",
}
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
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
