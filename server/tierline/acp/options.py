"""What the user can choose in the chat panel: model, context mode, how edits are applied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from acp import schema

from tierline import protocol as p
from tierline.context.text import clip
from tierline.localization.translator import translate, translate_label

MODEL, CONTEXT, EDITS, EFFORT = "model", "context", "edits", "effort"
EDIT_MODES = {
    "ask": ("Ask", "Each edit is shown and waits for your decision."),
    "apply": ("Apply", "Edits are applied at once; sensitive files are asked about all the same."),
}
CONTEXT_MODES = {
    "off": ("Off", "Only what you put into the context is sent."),
    "light": ("Light", "A map of the modules and short cards of fitting code go along."),
    "heavy": ("Heavy", "Larger pieces of fitting code go along."),
}
Option: TypeAlias = schema.SessionConfigOptionSelect | schema.SessionConfigOptionBoolean


def modes(edits: str) -> schema.SessionModeState:
    """The edit modes, for clients that know modes but no options."""
    return schema.SessionModeState(
        current_mode_id=edits,
        available_modes=[
            schema.SessionMode(id=key, name=translate_label(name), description=translate(text))
            for key, (name, text) in EDIT_MODES.items()
        ],
    )


def options(
    providers: Sequence[p.ProviderInfo], context: str, edits: str, effort: p.EffortResult
) -> list[Option]:
    """All options with their values. The effort is among them if the model has several."""
    models = [(spell(info.name, name), name, info) for info in providers for name in _models(info)]
    active = next((info for info in providers if info.active), None)
    current = spell(active.name, active.model) if active is not None else ""
    found: list[Option] = []
    if current:
        found.append(
            schema.SessionConfigOptionSelect(
                id=MODEL,
                name=translate_label("Model"),
                category="model",
                type="select",
                current_value=current,
                options=[
                    schema.SessionConfigSelectOption(
                        value=value, name=name, description=info.name.capitalize()
                    )
                    for value, name, info in models
                ],
            )
        )
    if effort.choices:
        names = ["auto", *effort.choices]
        values = {name: (name.capitalize(), "") for name in dict.fromkeys([*names, effort.effort])}
        found.append(_select(EFFORT, "Thinking", values, effort.effort, "thought_level"))
    found.append(_select(CONTEXT, "Context", CONTEXT_MODES, context, None))
    found.append(_select(EDITS, "Edits", EDIT_MODES, edits, "mode"))
    return found


def offered(name: str, commands: Sequence[p.CommandInfo]) -> schema.AvailableCommand:
    """One entry for all commands that begin with the same word."""
    rest = [command.usage.partition(" ")[2] for command in commands]
    hint = " | ".join(part for part in rest if part)
    text = " ".join(translate(command.doc) for command in commands)
    return schema.AvailableCommand(
        name=name,
        description=clip(text, 300),
        input=schema.AvailableCommandInput(schema.UnstructuredCommandInput(hint=hint))
        if hint
        else None,
    )


def spell(provider: str, model: str) -> str:
    """A model as an option's value."""
    return f"{provider}:{model}"


def read(value: str) -> tuple[str, str]:
    """Provider and model of an option's value."""
    provider, _, model = value.partition(":")
    return provider, model


def _models(info: p.ProviderInfo) -> list[str]:
    if not info.available and not info.active:
        return []
    return list(dict.fromkeys([info.model, *info.models])) if info.model else list(info.models)


def _select(
    key: str, name: str, values: dict[str, tuple[str, str]], current: str, category: Any
) -> schema.SessionConfigOptionSelect:
    return schema.SessionConfigOptionSelect(
        id=key,
        name=translate_label(name),
        category=category,
        type="select",
        current_value=current,
        options=[
            schema.SessionConfigSelectOption(
                value=value, name=translate_label(shown), description=translate(text)
            )
            for value, (shown, text) in values.items()
        ],
    )
