"""Generates ``vscode-client/src/protocol.ts``, ``docs/protocol.md`` and ``docs/configuration.md``.

``python tools/generate.py`` writes them from ``protocol/`` and ``config.py``,
``--check`` fails if one has drifted. Field documentation is read from the source, because Python
drops it at run time.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import itertools
import json
import pkgutil
import sys
import types
import typing
from collections.abc import Iterator
from enum import EnumType
from pathlib import Path
from typing import Any

import attrs

import manifest
from tierline import config, network, protocol
from tierline.protocol import camel

ROOT = Path(__file__).resolve().parents[1]
TYPESCRIPT = ROOT / "vscode-client" / "src" / "protocol.ts"
PACKAGE = ROOT / "vscode-client" / "package.json"
SETTINGS = ROOT / "vscode-client" / "src" / "extension" / "serverSettings.ts"
MARKDOWN = ROOT / "docs" / "protocol.md"
CONFIGURATION = ROOT / "docs" / "configuration.md"


def classes() -> list[type]:
    """The protocol's value classes by module, in source order, without the registry's own."""
    internal = (protocol.Method, protocol.ErrorCode)
    return [
        value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value)
        and attrs.has(value)
        and value.__module__ == module.__name__
        and value not in internal
    ]


def modules() -> list[types.ModuleType]:
    """The protocol's modules, by name."""
    found = pkgutil.iter_modules(protocol.__path__, f"{protocol.__name__}.")
    return [importlib.import_module(module.name) for module in found]


def field_docs(*sources: types.ModuleType) -> dict[str, dict[str, str]]:
    """Class name -> field name -> the docstring that follows the field in the source."""
    docs: dict[str, dict[str, str]] = {}
    for node in itertools.chain(*(ast.parse(inspect.getsource(s)).body for s in sources)):
        if not isinstance(node, ast.ClassDef):
            continue
        fields = docs.setdefault(node.name, {})
        for before, after in zip(node.body, node.body[1:], strict=False):
            if (
                isinstance(before, ast.AnnAssign)
                and isinstance(before.target, ast.Name)
                and isinstance(after, ast.Expr)
                and isinstance(after.value, ast.Constant)
                and isinstance(after.value.value, str)
            ):
                fields[before.target.id] = " ".join(after.value.value.split())
    return docs


def ts_type(hint: Any) -> str:
    """The TypeScript spelling of a type annotation."""
    simple = {
        str: "string",
        int: "number",
        float: "number",
        bool: "boolean",
        type(None): "null",
        Any: "unknown",
    }
    origin = typing.get_origin(hint)
    args = typing.get_args(hint)
    if hint in simple:
        return simple[hint]
    if origin is typing.Literal or isinstance(hint, EnumType):
        return " | ".join(f"'{value}'" for value in args or hint)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(ts_type(arg) for arg in args)
    if origin is list:
        inner = ts_type(args[0])
        return f"({inner})[]" if "|" in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<{ts_type(args[0])}, {ts_type(args[1])}>"
    if inspect.isclass(hint):
        return hint.__name__
    raise TypeError(f"protocol uses {hint!r}, for which there is no TypeScript spelling")


def typescript() -> str:
    """The whole of ``protocol.ts``."""
    docs = field_docs(*modules())
    inputs = input_classes()
    out = ["// Generated from server/tierline/protocol/ by `make docs-gen`. Do not edit.", ""]
    for cls in classes():
        hints = typing.get_type_hints(cls)
        out += [f"/** {_one_line(cls.__doc__)} */", f"export interface {cls.__name__} {{"]
        for item in attrs.fields(cls):
            if doc := docs.get(cls.__name__, {}).get(item.name):
                out.append(f"  /** {doc} */")
            optional = cls in inputs and item.default is not attrs.NOTHING
            mark = "?" if optional else ""
            out.append(f"  {camel(item.name)}{mark}: {ts_type(hints[item.name])};")
        out += ["}", ""]
    union = " | ".join(cls.__name__ for cls in typing.get_args(protocol.EventBody))
    out += [f"export type EventBody = {union};", ""]
    out += [f"export const EVENT = '{protocol.EVENT}';", ""]
    out += ["/** Wire name of each request, with its parameters and result. */"]
    out += ["export interface Requests {"]
    for method in protocol.METHODS:
        out.append(f"  /** {method.doc} */")
        out.append(f"  '{method.name}': [{method.params.__name__}, {method.result.__name__}];")
    out += ["}", "", "/** The same for requests from server to client. */"]
    out += ["export interface ClientRequests {"]
    for method in protocol.CLIENT_METHODS:
        out.append(f"  /** {method.doc} */")
        out.append(f"  '{method.name}': [{method.params.__name__}, {method.result.__name__}];")
    out += ["}", "", f"export const EDITOR_MODELS = '{protocol.EDITOR_MODELS.name}';"]
    out += [f"export const EDITOR_CHAT = '{protocol.EDITOR_CHAT.name}';"]
    out += [f"export const EDITOR_SAVE = '{protocol.EDITOR_SAVE.name}';"]
    out += [f"export const EDITOR_PROVIDE = '{protocol.EDITOR_PROVIDE.name}';"]
    out += [f"export const EDITOR_PART = '{protocol.EDITOR_PART}';"]
    out += [f"export const EDITOR_CANCEL = '{protocol.EDITOR_CANCEL}';"]
    out += ["", "export const ERRORS = {"]
    out += [f"  {error.code}: {error.number}," for error in protocol.ERRORS]
    out += ["} as const;", ""]
    return "\n".join(out)


def input_classes() -> set[type]:
    """Classes that a client sends: there, fields with a default may be left out."""
    seen: set[type] = set()

    def visit(hint: Any) -> None:
        for arg in typing.get_args(hint):
            visit(arg)
        if inspect.isclass(hint) and attrs.has(hint) and hint not in seen:
            seen.add(hint)
            for inner in typing.get_type_hints(hint).values():
                visit(inner)

    for method in protocol.METHODS:
        visit(method.params)
    for method in protocol.CLIENT_METHODS:
        visit(method.result)
    visit(protocol.EditorPartParams)
    return seen


_TO_CLIENT = [
    "",
    "## Requests to the client",
    "",
    "The server asks these of a client that declares them under",
    "`capabilities.experimental.tierline`; no other client sees them.",
    "",
    "`save`: `tierline/editor/save`. Two more words change how questions are asked: with",
    "`consent` and `edits` the client shows `consentAsked` and `editChanged` itself and",
    "answers with `tierline/consent/answer`, `tierline/edit/accept` and",
    "`tierline/edit/reject`; without them the same questions come as",
    "`window/showMessageRequest`.",
    "",
    "`languageModels`: `tierline/editor/models` and `tierline/editor/chat`. The client",
    f"sends each part of a reply as a `{protocol.EDITOR_PART}` notification with",
    "[EditorPartParams](#editorpartparams) and answers the request when the reply is whole. A",
    f"`{protocol.EDITOR_CANCEL}` notification ([EditorCancelParams](#editorcancelparams)) says",
    "that the reply is no longer wanted. An error's `data.code` is `auth`, `unavailable`,",
    "`overflow`, `rate_limited` or `bad_request`.",
    "",
    "`ask`: the client asks for words on its own command `tierline.ask` (*Ask about this*) and",
    "passes them on with `tierline/chat/ask`.",
    "",
    "`provides`: a list of what the editor can give for a mention, of `problems`, `terminal`,",
    "`selection` and `editors`. With it `tierline/editor/provide` is asked when a prompt names",
    "`@problems`, `@problems:src/a.py`, `@terminal`, `@terminal:selection`, `@terminal:NAME`,",
    "`@selection` or `@editors` and the prompt did not bring it as `given`. Diagnostics come",
    "from the client alone: a server is not told what others report.",
    "",
    "| request | parameters | result | what it does |",
    "| --- | --- | --- | --- |",
]


_REQUESTS = [
    "# Protocol",
    "",
    "<!-- Generated from server/tierline/protocol/ by `make docs-gen`. Do not edit. -->",
    "",
    "Requests go over LSP's JSON-RPC. Each is also a server command with dots in place of",
    "slashes (`workspace/executeCommand`), whose one argument is the same parameters object.",
    "Names are camelCase on the wire. Fields marked *optional* may be left out.",
    "",
    "## Requests",
    "",
    "| request | command | parameters | result | what it does |",
    "| --- | --- | --- | --- | --- |",
]
_EVENTS = [
    "",
    "## Events",
    "",
    f"The server sends `{protocol.EVENT}` notifications with an [Event](#event). `seq`",
    "grows by one with each event; a client that sees a gap asks for `tierline/state/get`,",
    "whose `seq` says which events it already contains.",
    "",
    "| kind | what it says |",
    "| --- | --- |",
]
_ERRORS = [
    "",
    "## Errors",
    "",
    "A JSON-RPC error carries a number, a sentence that says what happened, and in `data` a",
    "stable `code` and an `advice` sentence that says what to do.",
    "",
    "| number | code | meaning |",
    "| --- | --- | --- |",
]


def markdown() -> str:
    """The whole of ``docs/protocol.md``."""
    out = [*_REQUESTS]
    out += [
        f"| `{method.name}` | `{method.command}` | {_link(method.params)} "
        f"| {_link(method.result)} | {method.doc} |"
        for method in protocol.METHODS
    ]
    out += _EVENTS
    for cls in typing.get_args(protocol.EventBody):
        out.append(
            f"| [`{attrs.fields(cls).kind.default}`](#{cls.__name__.lower()}) "
            f"| {_one_line(cls.__doc__)} |"
        )
    out += _TO_CLIENT
    out += [
        f"| `{m.name}` | {_link(m.params)} | {_link(m.result)} | {m.doc} |"
        for m in protocol.CLIENT_METHODS
    ]
    out += _ERRORS
    out += [f"| {error.number} | `{error.code}` | {error.doc} |" for error in protocol.ERRORS]
    return "\n".join([*out, "", "## Types", "", *_types()])


def _types() -> Iterator[str]:
    docs = field_docs(*modules())
    inputs = input_classes()
    for cls in classes():
        hints = typing.get_type_hints(cls)
        yield from (f"### {cls.__name__}", "", " ".join((cls.__doc__ or "").split()), "")
        if not attrs.fields(cls):
            continue
        yield from ("| field | type | meaning |", "| --- | --- | --- |")
        for item in attrs.fields(cls):
            kind = ts_type(hints[item.name]).replace("|", "\\|")
            doc = docs.get(cls.__name__, {}).get(item.name, "")
            if cls in inputs and item.default is not attrs.NOTHING:
                doc = f"*optional* {doc}".strip()
            yield f"| `{camel(item.name)}` | `{kind}` | {doc} |"
        yield ""


def configuration() -> str:
    """The whole of ``docs/configuration.md``."""
    docs = field_docs(config, network)
    out = [
        "# Configuration",
        "",
        "<!-- Generated from server/tierline/config.py by `make docs-gen`. Do not edit. -->",
        "",
        "Settings come from five places; a later one overrides an earlier one:",
        "",
        "1. the defaults below,",
        "2. your own file, `config.toml` in Tierline's configuration folder (for example",
        "   `~/.config/tierline` on Linux, `~/Library/Application Support/tierline` on macOS),",
        "3. the workspace's `.tierline/config.toml`,",
        "4. the editor's settings (in VS Code, search for *Tierline*),",
        "5. the environment: `TIERLINE_<SECTION>_<NAME>`, for example `TIERLINE_PROVIDER_MODEL`.",
        "",
        "A value that cannot be used is reported and skipped; everything else still counts.",
        "Keys are never settings: they come from the environment (`ANTHROPIC_API_KEY` and others)",
        "or from the editor's secret storage ([providers](providers.md)).",
        "",
        "```toml",
        "[provider]",
        'name = "anthropic"',
        "",
        "[context]",
        'mode = "light"',
        "```",
        "",
    ]
    for section, cls in config.SECTIONS.items():
        hints = typing.get_type_hints(cls)
        out += [f"## `[{section}]`", "", _one_line(cls.__doc__), ""]
        out += ["| setting | type | default | meaning |", "| --- | --- | --- | --- |"]
        for item in attrs.fields(cls):
            allowed = config.choices(cls, item.name)
            kind = " \\| ".join(allowed) if allowed else ts_type(hints[item.name])
            doc = docs.get(cls.__name__, {}).get(item.name, "")
            out.append(f"| `{item.name}` | {kind} | `{_toml(item.default)}` | {doc} |")
        out.append("")
    out += [
        "## Model facts",
        "",
        "Windows, prices and cache rules of known models are in `server/tierline/data`; a",
        "`models.toml` beside your own `config.toml` adds rows or overrides them",
        "([how a model is found](providers.md#what-is-known-of-a-model)).",
        "",
    ]
    return "\n".join(out)


def _toml(value: str | float) -> str:
    """A setting's value as its file spells it."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value)


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def _link(cls: type) -> str:
    return f"[{cls.__name__}](#{cls.__name__.lower()})"


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` only compare. Returns the exit status."""
    stale = []
    generated = (
        (TYPESCRIPT, typescript()),
        (MARKDOWN, markdown()),
        (CONFIGURATION, configuration()),
        (SETTINGS, manifest.typescript()),
        (PACKAGE, manifest.manifest(PACKAGE.read_text(encoding="utf-8"))),
    )
    for path, text in generated:
        if "--check" in arguments:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(path.relative_to(ROOT).as_posix())
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    if stale:
        print(f"Out of date: {', '.join(stale)}. Run `make docs-gen`.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
