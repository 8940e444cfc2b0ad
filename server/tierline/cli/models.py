"""``tierline models``: what is known of models, and from where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tierline.cli import tables as cli_tables
from tierline.cli.common import (
    EXIT_PROBLEM,
    _Json,
    _Root,
    fail,
    home_of,
    out,
    print_json,
    say,
    tell,
)
from tierline.localization.translator import translate_label

if TYPE_CHECKING:
    from tierline.context.models import ModelFacts

app = typer.Typer()


@app.command()
def models(
    name: Annotated[
        str, typer.Argument(help="A model's name, or a part of it; empty for all that are sold.")
    ] = "",
    provider: Annotated[
        str, typer.Option(help="Only this provider's models, for example anthropic or gemini.")
    ] = "",
    root: _Root = Path(),
    as_json: _Json = False,
) -> None:
    """Show windows, prices, cache rules and what models take, and where each figure is from."""
    from tierline import config
    from tierline.providers import registry
    from tierline.session.counting import make_counters

    home = home_of(root)
    settings = config.load(home.parent)[0].context
    table = make_counters(home).table
    row = registry.spec(provider) if provider else None
    if provider and row is None:
        names = ", ".join(registry.NAMES)
        fail(f"There is no provider {provider}. Choose one of these: {names}.")
    vendors = [row.vendor] if row is not None else [*table.public.vendors]
    kind, host = (row.adapter, row.host) if row is not None else ("", "")
    sold = [one for vendor in vendors for one in table.public.vendors.get(vendor, ())]
    chosen = [one for one in sold if name.lower() in one.lower()]
    if name and not chosen:
        chosen = [name]
    found = [
        table.facts(
            one, provider=kind or _adapter(one), host=host, default_window=settings.default_window
        )
        for one in chosen
    ]
    if as_json:
        print_json({"source": table.public.origin, "models": [_data(facts) for facts in found]})
    elif len(found) == 1:
        _one(found[0])
    elif found:
        _table(found)
        tell(f"Prices in US dollars per million tokens. From {table.public.origin}.")
    else:
        say("No model of this provider is in the table: what it serves decides.", "yellow")
    if name and len(found) == 1 and found[0].limit_source == "default":
        raise typer.Exit(EXIT_PROBLEM)


def _adapter(model: str) -> str:
    from tierline.providers import registry

    return (registry.owner(model) or registry.COMPATIBLE).adapter


def _one(facts: ModelFacts) -> None:
    from tierline.context import model_texts

    out.print(facts.name, style="bold")
    for line in (model_texts.summary(facts), model_texts.details(facts)):
        out.print(" · ".join(map(translate_label, line.split(" · "))))
    if facts.prices.write_5m:
        tell(f"cache writes {model_texts.dollars(facts.prices.write_5m)} per million")
    if facts.long_prompt_tokens:
        long = model_texts.money(facts.long_prices)
        tell(f"with more than {facts.long_prompt_tokens:,} tokens of input: {long}")
    for text in (facts.note, f"Source: {facts.source}." if facts.source else ""):
        if text:
            tell(text, "dim")
    if facts.limit_source == "default":
        tell(model_texts.ADVICE)


def _table(found: list[ModelFacts]) -> None:
    from tierline.context import model_texts

    columns = [("Model", False), ("Reads", True), ("Writes", True), ("In", True), ("Out", True),
               ("Cached", True), ("Notes", False)]  # fmt: skip
    rows = []
    for facts in found:
        prices = facts.prices
        asked = (prices.input, prices.output, prices.read)
        money = [model_texts.dollars(price) if price else "" for price in asked]
        notes = model_texts.details(facts).split(" · ")[1:-1]
        rows.append([
            facts.name, f"{facts.max_input_tokens:,}", f"{facts.max_output_tokens:,}", *money,
            ", ".join(translate_label(note) for note in notes if not note.startswith("source")),
        ])  # fmt: skip
    cli_tables.print_table("Models", columns, rows)


def _data(facts: ModelFacts) -> dict[str, Any]:
    from attrs import asdict

    from tierline.context.images import ImageRule

    known = facts.sees or facts.image_rule not in (ImageRule.UNKNOWN, ImageRule.NONE)
    pictures = None if facts.image_rule is ImageRule.UNKNOWN and not known else known
    return asdict(facts) | {"pictures": pictures}
