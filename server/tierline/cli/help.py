"""Examples of every command, for ``--help`` and for the reference in the documentation.

A test takes care that each command has some and that they are understood.
"""

from __future__ import annotations

import typer

EXAMPLES: dict[str, tuple[str, ...]] = {
    "serve": ("tierline serve", "tierline serve --tcp 127.0.0.1:7817"),
    "chat": (
        'tierline chat "What does parse() return?" -f src/parser.py',
        'tierline chat "Why is the port taken?" --confirm .env',
        "git diff | tierline chat - --continue",
        'tierline chat "Name the three largest risks." --json',
    ),
    "budget": ("tierline budget -f src/parser.py", "tierline budget --json"),
    "replay": ("tierline replay 4f2a", "tierline replay --diff 4f2a 91c0"),
    "plans": ("tierline plans -n 5", "tierline plans --json"),
    "sessions": (
        "tierline sessions",
        "tierline sessions -n 1 --json",
        "tierline sessions --archived",
    ),
    "archive": (
        "tierline archive sess_1795971892622_a0ce8d",
        "tierline archive --days 365 --dry-run",
        "tierline archive --back sess_1795971892622_a0ce8d",
    ),
    "own": ("tierline own", "tierline own --root ../restored"),
    "recover": ("tierline recover ../old/.tierline/history.jsonl",),
    "query": (
        'tierline query "SELECT role, count(*) FROM messages GROUP BY role"',
        'tierline query "SELECT * FROM sessions LIMIT 3" --json',
    ),
    "stats": ("tierline stats", "tierline stats --turns -n 5", "tierline stats --session 4f2a91"),
    "add": (
        'tierline add user "We deploy on Fridays." --important',
        "make test 2>&1 | tierline add tool -",
    ),
    "build": ('tierline build -p "And now?"', "tierline build --strategy ranked"),
    "compress": ("tierline compress",),
    "interactive": ("tierline interactive", "tierline interactive --new --model gpt-5"),
    "memory stats": ("tierline memory stats", "tierline memory stats --json"),
    "memory compress": ("tierline memory compress",),
    "memo list": ("tierline memo list", "tierline memo list --tag release"),
    "memo search": ('tierline memo search "how we deploy"',),
    "memo save": ('tierline memo save "Tests need make setup." -t tests',),
    "memo edit": ('tierline memo edit 1795-ab "Tests need make setup first."',),
    "memo delete": ("tierline memo delete 1795-ab",),
    "compact": ("tierline compact", "tierline compact --extractive", "tierline compact --undo"),
    "doctor": ("tierline doctor", "tierline doctor --quick --json"),
    "models": (
        "tierline models",
        "tierline models claude-sonnet-5.5",
        "tierline models --provider gemini",
    ),
    "mcp": ("tierline mcp --root ~/project",),
    "acp": ("tierline acp",),
    "url add": ("tierline url add https://docs.python.org/3/library/asyncio.html",),
    "url list": ("tierline url list", "tierline url list --json"),
    "url show": ("tierline url show https://docs.python.org/3/library/asyncio.html",),
    "url refresh": ("tierline url refresh https://docs.python.org/3/library/asyncio.html",),
    "url remove": ("tierline url remove https://docs.python.org/3/library/asyncio.html",),
    "gc": ("tierline gc --dry-run", "tierline gc --json"),
    "index history": ("tierline index history",),
    "index symbols": ("tierline index symbols", "tierline index symbols --fresh --json"),
    "index meaning": ("tierline index meaning",),
    "completion": ('eval "$(tierline completion bash)"', "tierline completion fish | source"),
}


def explain(app: typer.Typer, above: str = "") -> None:
    """Put the examples under the help of every command."""
    for command in app.registered_commands:
        assert command.callback is not None
        name = above + (command.name or command.callback.__name__)
        if found := EXAMPLES.get(name):
            # A paragraph each: within one, line breaks are lost.
            command.epilog = "\n\n".join(("Examples:", *(f"$ {line}" for line in found)))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            name = group.name if isinstance(group.name, str) else ""
            explain(group.typer_instance, f"{name} " if name else above)
