"""When to compress and when to retrieve, as a table."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from attrs import frozen


class MemoryAction(StrEnum):
    """What the memory does in a situation."""

    COMPRESS_OLDEST = "compress oldest working memory"
    RETRIEVE_SUMMARY = "retrieve summary"
    RETRIEVE_ERRORS = "retrieve relevant error history"
    COMPRESS_TASK = "compress previous task, clear volatile, promote its summary to session"
    EXPAND_TOPIC = "retrieve and expand that topic"


@frozen
class SituationFacts:
    """The facts that the rules test when a prompt arrives."""

    fill: float = 0.0
    """The fullest of total and working memory, as a share of its budget."""
    trigger: float = 0.8
    refers_to_old_task: bool = False
    error_repeats: bool = False
    new_task: bool = False
    names_past_topic: bool = False


@frozen
class SituationRule:
    """One row: the situation in words, the test, and the actions that follow."""

    situation: str
    when: Callable[[SituationFacts], bool]
    then: MemoryAction


TABLE = (
    SituationRule("Context > 80% full", lambda f: f.fill > f.trigger, MemoryAction.COMPRESS_OLDEST),
    SituationRule(
        "Referencing old task", lambda f: f.refers_to_old_task, MemoryAction.RETRIEVE_SUMMARY
    ),
    SituationRule("Error repeating", lambda f: f.error_repeats, MemoryAction.RETRIEVE_ERRORS),
    SituationRule("New task started", lambda f: f.new_task, MemoryAction.COMPRESS_TASK),
    SituationRule(
        "User mentions past topic", lambda f: f.names_past_topic, MemoryAction.EXPAND_TOPIC
    ),
)


def decide(facts: SituationFacts) -> tuple[MemoryAction, ...]:
    """The actions that are due, in the table's order."""
    return tuple(rule.then for rule in TABLE if rule.when(facts))
