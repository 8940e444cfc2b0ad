"""Pages of the documentation site that are made from the code, and the navigation.

The editor's page comes from the extension's manifest, the changelog from its file: neither can
drift, and neither is kept twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "vscode-client"
SECTIONS = {
    "Use": [
        "vscode",
        "vscode-client",
        "providers",
        "tools",
        "mentions",
        "instructions",
        "urls",
        "history",
        "cli",
        "editors",
    ],
    "Understand": ["architecture", "tiers", "memory"],
    "Reference": ["configuration", "protocol", "changelog"],
    "Build": [
        "development",
        "dependencies",
        "benchmarks",
        "living",
        "reliability",
        "security",
        "seeds",
    ],
}
"""Pages by section; what is not named here joins the section in the middle, by name."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Order the navigation: named pages first, every other page where a reader would look."""
    docs = Path(config.docs_dir)
    made = {"vscode", "changelog"}
    named = {name for names in SECTIONS.values() for name in names}
    there = {path.stem for path in docs.glob("*.md")} | made
    rest = sorted(there - named - {"index"})
    nav: list[Any] = [{"Home": "index.md"}]
    for section, names in SECTIONS.items():
        wanted = [*names, *(rest if section == "Understand" else [])]
        pages: list[Any] = [f"{name}.md" for name in wanted if name in there]
        if "editors" in wanted:
            pages.append(
                {"Other editors": [f"editors/{p.name}" for p in _index_first(docs / "editors")]}
            )
        nav.append({section: pages})
    config.nav = nav
    return config


def _index_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.md"), key=lambda path: (path.stem != "index", path.stem))


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the generated pages."""
    made = {"vscode.md": editor(), "changelog.md": changelog()}
    for name, content in made.items():
        files.append(File.generated(config, name, content=content))
    return files


def editor() -> str:
    """The extension's commands, keys and views, from its manifest."""
    manifest = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    texts = json.loads((CLIENT / "package.nls.json").read_text(encoding="utf-8"))
    parts = manifest["contributes"]

    def spelt(value: str) -> str:
        return str(texts.get(value.strip("%"), value))

    keys: dict[str, list[str]] = {}
    for binding in parts.get("keybindings", []):
        keys.setdefault(binding["command"], []).append(binding["key"])
    lines = ["# VS Code", "", "## Commands", "", "| command | keys |", "| --- | --- |"]
    for command in parts["commands"]:
        shown = ", ".join(f"`{key}`" for key in keys.get(command["command"], []))
        category = command.get("category", "")
        title = f"{category}: {spelt(command['title'])}" if category else spelt(command["title"])
        lines.append(f"| {title} | {shown} |")
    lines += ["", "## Views", ""]
    lines += [f"- {spelt(view['name'])}" for views in parts["views"].values() for view in views]
    lines += ["", "## Walkthrough", ""]
    for walkthrough in parts.get("walkthroughs", []):
        lines += [f"1. {spelt(step['title'])}" for step in walkthrough["steps"]]
    able = manifest["capabilities"]
    lines += ["", "## Restricted mode", "", spelt(able["untrustedWorkspaces"]["description"])]
    lines += ["", "## Virtual workspaces", "", spelt(able["virtualWorkspaces"]["description"])]
    lines += ["", "Platforms, accessibility, figures: [the extension](vscode-client.md)."]
    lines += ["", "## Settings", "", "Beside these, see [configuration](configuration.md)."]
    for group in parts["configuration"]:
        lines += ["", f"### {spelt(group['title'])}", "", "| setting | default | meaning |"]
        lines.append("| --- | --- | --- |")
        lines += [_setting(name, one, spelt) for name, one in group["properties"].items()]
    return "\n".join([*lines, ""])


def _setting(name: str, schema: dict[str, Any], spelt: Callable[[str], str]) -> str:
    """A setting of the extension as a row of a table."""

    def plain(text: str) -> str:
        return re.sub(r"`#([\w.]+)#`", r"`\1`", spelt(text)).replace("|", "\\|")

    said = plain(schema["markdownDescription"])
    meanings = zip(schema.get("enum", ()), schema.get("enumDescriptions", ()), strict=True)
    said += "".join(f"<br>`{value}`: {plain(meaning)}" for value, meaning in meanings)
    return f"| `{name}` | `{json.dumps(schema['default'])}` | {said} |"


def changelog() -> str:
    """The changelog; its links lead out of the site and stay as they are."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/", "](", text)
