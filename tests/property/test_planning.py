"""What holds for every plan, whatever goes in."""

from __future__ import annotations

import json

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.planning import limits as make_limits
from tierline.context.blocks import Text
from tierline.context.budget import budget
from tierline.context.enforce import FixedPartTooLarge, Selection, emergency_truncate, fixed_name
from tierline.context.items import Item, Pin, Section
from tierline.context.limits import Limits, compaction_trigger
from tierline.context.mode import ContextMode
from tierline.context.models import ModelFacts
from tierline.context.plan import FRAME_KEY, ContextPlan, PlanEntry, plan
from tierline.context.plan_diff import diff
from tierline.context.plan_json import plan_from_json, plan_to_json
from tierline.context.prompt import PromptBlock, PromptMessage

KEYS = [f"{section.value}:{number}" for section in Section for number in range(4)]


@st.composite
def items(draw: st.DrawFn) -> Item:
    key = draw(st.sampled_from(KEYS))
    section = Section(key.split(":")[0])
    history = section is Section.HISTORY
    message = PromptMessage("user", (PromptBlock(Text(key), key),))
    return Item(
        key=key,
        section=section,
        sha256=draw(st.sampled_from("abc")),
        tokens=draw(st.integers(0, 600)),
        messages=(message,) if history else (),
        priority=draw(st.sampled_from([0, 50, 50, 90])),
        pin=draw(st.sampled_from(list(Pin))),
        required=draw(st.integers(0, 9)) == 0,
        group=draw(st.sampled_from(["g1", "g2", "g3"])) if history else "",
        depends=tuple(draw(st.lists(st.sampled_from(KEYS), max_size=2)) if draw(_RARELY) else ()),
        path=key if section is Section.FILES else "",
    )


_RARELY = st.integers(0, 4).map(lambda number: number == 0)
candidates = st.lists(items(), max_size=30)
all_limits = st.builds(
    Limits,
    window=st.integers(1, 6000),
    max_input_tokens=st.integers(1, 6000),
    max_output_tokens=st.integers(1, 5000),
    margin=st.sampled_from([0.0, 0.02, 0.1, 0.25, 0.5]),
    shed_at=st.sampled_from([0.5, 0.9, 1.0]),
    compaction_trigger_tokens=st.integers(1, 5000),
)
modes = st.sampled_from(list(ContextMode))


def try_plan(
    given: list[Item], limits: Limits, mode: ContextMode, failed: bool = False, frame: int = 7
) -> ContextPlan:
    try:
        return plan(
            given, limits, model="m", mode=mode, compaction_failed=failed, frame_tokens=frame
        )
    except FixedPartTooLarge:
        assume(False)
        raise


@settings(max_examples=150)
@given(candidates, all_limits, modes, st.booleans())
def test_no_request_is_over_the_window(
    given: list[Item], limits: Limits, mode: ContextMode, failed: bool
) -> None:
    made = try_plan(given, limits, mode, failed)
    assert made.estimate <= limits.max_input_tokens
    assert made.max_output_tokens >= 1
    assert made.estimate + made.max_output_tokens <= limits.window
    assert made.estimate >= made.tokens * (1 + limits.margin) - 1e-6


@settings(max_examples=150)
@given(candidates, all_limits, modes)
def test_a_fixed_part_that_does_not_fit_is_named_and_everything_else_had_left(
    given: list[Item], limits: Limits, mode: ContextMode
) -> None:
    try:
        plan(given, limits, mode=mode)
    except FixedPartTooLarge as error:
        assert error.parts, "the error names what is too large"
        assert sum(part.tokens for part in error.parts) == error.needed > error.room
        held = Selection({item.key: item for item in reversed(given)}.values())
        assert all(held.held(held.kept[part.key]) for part in error.parts)
        assert fixed_name(error.parts[0]) in str(error)


@settings(max_examples=150)
@given(candidates, all_limits, modes)
def test_sections_sum_to_the_total_and_the_report_stays_in_bounds(
    given: list[Item], limits: Limits, mode: ContextMode
) -> None:
    made = try_plan(given, limits, mode)
    report = budget(made, ModelFacts("m"), limits)
    assert sum(section.tokens for section in report.sections) == report.used == made.tokens
    assert [section.name for section in report.sections] == list(Section)
    assert report.remaining >= 0
    assert 0 <= report.percent <= 100
    assert sum(made.section_tokens().values()) == made.tokens


@settings(max_examples=150)
@given(candidates, all_limits, modes, st.booleans())
def test_every_candidate_is_in_or_out_with_a_reason(
    given: list[Item], limits: Limits, mode: ContextMode, failed: bool
) -> None:
    made = try_plan(given, limits, mode, failed)
    included = [entry.key for entry in made.included]
    assert len(included) == len(set(included))
    for item in given:
        entry = made.entry(item.key)
        assert entry is not None, f"{item.key} is neither in nor out"
        assert entry.reason and entry.code
    known = {item.key for item in given} | {FRAME_KEY}
    assert {entry.key for entry in (*made.included, *made.excluded)} <= known


@settings(max_examples=150)
@given(candidates, all_limits, modes, st.booleans())
def test_dependencies_are_closed(
    given: list[Item], limits: Limits, mode: ContextMode, failed: bool
) -> None:
    made = try_plan(given, limits, mode, failed)
    included = {entry.key for entry in made.included}
    first = {item.key: item for item in reversed(given)}
    required = {key for key, item in first.items() if item.required}
    assert required <= included
    # What must go brings along what it needs as far as there is such a thing.
    forced, new = set(required), set(required)
    while new := {d for key in new for d in first[key].depends if d in first} - forced:
        forced |= new
    for key in included - {FRAME_KEY} - forced:
        assert set(first[key].depends) <= included


@settings(max_examples=100)
@given(candidates, all_limits, modes, st.booleans())
def test_atoms_are_never_split(
    given: list[Item], limits: Limits, mode: ContextMode, failed: bool
) -> None:
    made = try_plan(given, limits, mode, failed)
    for item in made.select(given):
        assert item in given, "an item was changed on its way into the plan"


@settings(max_examples=100)
@given(candidates, all_limits, modes, st.booleans())
def test_the_same_inputs_give_the_same_plan(
    given: list[Item], limits: Limits, mode: ContextMode, failed: bool
) -> None:
    made = try_plan(given, limits, mode, failed)
    assert try_plan(list(given), limits, mode, failed) == made
    assert diff(made, made).first_break == ""


@settings(max_examples=100)
@given(candidates, all_limits, modes, st.data())
def test_another_content_gives_another_plan_id(
    given: list[Item], limits: Limits, mode: ContextMode, data: st.DataObject
) -> None:
    assume(given)
    made = try_plan(given, limits, mode)
    place = data.draw(st.integers(0, len(given) - 1))
    item = given[place]
    other = [
        *given[:place],
        Item(item.key, item.section, "other", item.tokens),
        *given[place + 1 :],
    ]
    assert try_plan(other, limits, mode).plan_id != made.plan_id


@settings(max_examples=100)
@given(candidates, all_limits, modes)
def test_a_plan_survives_json(given: list[Item], limits: Limits, mode: ContextMode) -> None:
    made = try_plan(given, limits, mode)
    assert plan_from_json(json.loads(json.dumps(plan_to_json(made)))) == made


@settings(max_examples=100)
@given(st.lists(st.integers(0, 400), max_size=12), all_limits, modes, st.integers(0, 4))
def test_every_listed_file_is_in_the_body_or_out_with_a_reason(
    sizes: list[int], limits: Limits, mode: ContextMode, missing: int
) -> None:
    """BR-032: there is no third state."""
    files = [
        Item(f"file:{n}.py", Section.FILES, str(n), size, path=f"{n}.py")
        for n, size in enumerate(sizes)
    ]
    gone = [
        PlanEntry(f"file:gone{n}.py", Section.FILES, 0, "missing", "It is not on disk any more.")
        for n in range(missing)
    ]
    made = plan(files, limits, mode=mode, absent=gone)
    body = {item.key for item in made.select(files)}
    out = {entry.key: entry for entry in made.excluded}
    for key in [item.key for item in files] + [entry.key for entry in gone]:
        assert (key in body) != (key in out)
        assert key in body or out[key].reason


@settings(max_examples=100)
@given(candidates, all_limits)
def test_emergency_truncation_ends_within_the_trigger_or_with_nothing_left_to_drop(
    given: list[Item], limits: Limits
) -> None:
    selection = Selection(given)
    before = dict(selection.kept)
    notices = emergency_truncate(selection, limits)
    history = [i for i in selection.kept.values() if i.section is Section.HISTORY]
    left = sum(item.tokens for item in history)
    if notices:
        assert left <= compaction_trigger(limits) or all(map(selection.held, history))
    required = {key for key, item in before.items() if item.required}
    assert required <= set(selection.kept)


@given(candidates)
def test_plans_of_a_generous_window_leave_out_only_what_the_mode_or_a_key_forbids(
    given: list[Item],
) -> None:
    made = plan(given, make_limits(1_000_000), mode=ContextMode.HEAVY)
    allowed = {"mode_limit", "duplicate", "dependency"}
    assert {entry.code for entry in made.excluded} <= allowed
