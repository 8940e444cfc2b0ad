"""Plans as JSON, to be stored and read back exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import asdict, fields

from tierline.context.items import Pin, Section
from tierline.context.mode import ContextMode
from tierline.context.plan import ContextPlan, PlanEntry, SentItem

_ENTRY_FIELDS = [attribute.name for attribute in fields(PlanEntry)]


def plan_to_json(plan: ContextPlan) -> dict[str, Any]:
    """A JSON object. Entries are rows in the order of ``columns``, since there may be thousands."""
    value = asdict(plan, recurse=False)
    value["mode"] = plan.mode.value
    value["columns"] = _ENTRY_FIELDS
    for name in ("included", "excluded"):
        value[name] = [
            [str(getattr(entry, field)) if field in ("section", "pin", "code")
             else getattr(entry, field) for field in _ENTRY_FIELDS]
            for entry in value[name]
        ]  # fmt: skip
    value["notices"] = list(plan.notices)
    value["sent"] = [[sent.key, sent.sha256, sent.marked] for sent in plan.sent]
    return value


def plan_from_json(value: Mapping[str, Any]) -> ContextPlan:
    """The plan of a JSON object. Fields of later versions are ignored.

    Raises:
        ValueError, KeyError, TypeError: if it is not a stored plan.
    """
    known = {attribute.name for attribute in fields(ContextPlan)}
    kept = {name: item for name, item in value.items() if name in known}
    kept["mode"] = ContextMode(kept["mode"])
    columns = [str(name) for name in value["columns"]]
    for name in ("included", "excluded"):
        kept[name] = tuple(_entry(dict(zip(columns, row, strict=True))) for row in kept[name])
    kept["notices"] = tuple(map(str, kept.get("notices", ())))
    kept["sent"] = tuple(
        SentItem(str(key), str(sha256), bool(marked))
        for key, sha256, marked in kept.get("sent", ())
    )
    return ContextPlan(**kept)


def _entry(row: dict[str, Any]) -> PlanEntry:
    values = {name: row[name] for name in _ENTRY_FIELDS if name in row}
    values["section"] = Section(values["section"])
    values["pin"] = Pin(values.get("pin", Pin.NONE))
    return PlanEntry(**values)
