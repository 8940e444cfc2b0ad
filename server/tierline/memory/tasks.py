"""Where one task ends and the next begins, judged by words, files and time."""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import field, frozen

from tierline.history.cues import is_new_task
from tierline.history.names import file_names
from tierline.memory.words import similarity, terms

_BACK = re.compile(
    r"\b(?:as (?:before|earlier|previously)|(?:we|you|i) (?:did|had|fixed|said|decided|discussed|"
    r"agreed|talked|used|wrote|made|added|changed|chose|set|called|did) (?:\w+ ){0,6}(?:earlier|"
    r"before|previously|last time|back then|at the (?:start|beginning)|yesterday)|"
    r"(?:earlier|previous|former|old|first|original) (?:task|topic|problem|bug|issue|fix|change|"
    r"discussion|question|plan|decision|error|approach|solution|version)|last time|remember "
    r"(?:when|how|what|the|that)|back to|(?:what|which|why|how|where|when) did (?:we|you|i)|"
    r"(?:what|which) (?:\w+ )?(?:was|were)|"
    r"(?:did|have) we (?:\w+ )?(?:decide|agree|settle|choose|fix)\w*|again\?|"
    r"(?:like|similar to) (?:the one )?(?:before|last time)|(?:mentioned|told you) (?:\w+ )?"
    r"(?:before|earlier))",
    re.IGNORECASE,
)
_FINISHED = re.compile(
    r"^\W*(?:(?:thanks?|thank you|great|perfect|works?|it works|that works|nice|awesome|done|lgtm|"
    r"all (?:good|done|set|green)|that'?s (?:it|all)|ship it|merged|super|danke)\b[\s,.!-]*)+",
    re.IGNORECASE,
)
COHESION = 0.05
"""Cosine below which a prompt has almost nothing in common with the task."""
LONG_PAUSE_MINUTES = 30.0
_FEW_WORDS = 3
"""A prompt with fewer content words refers to what was said before."""


@frozen
class Task:
    """The current task."""

    bag: Mapping[str, float] = field(factory=dict)
    """How often each term occurred, recent turns counting more."""
    files: frozenset[str] = frozenset()
    prompts: int = 0
    last: float = 0.0
    """Minutes since 1970 of its newest turn."""
    title: str = ""
    finished: bool = False
    """The user said that it is done."""

    def with_turn(self, prompt: str, text: str, files: frozenset[str], when: float) -> Task:
        """The task after one more turn: ``prompt`` as asked, ``text`` all that was said."""
        bag = {term: weight * _FADE for term, weight in self.bag.items() if weight > _LEAST}
        for term in terms(text):
            bag[term] = bag.get(term, 0.0) + 1.0
        for term in terms(prompt):
            bag[term] = bag.get(term, 0.0) + 1.0
        title = self.title or " ".join(prompt.split())[:80]
        return Task(bag, self.files | files, self.prompts + 1, when, title, self.finished)


_FADE, _LEAST = 0.8, 0.05


@frozen
class TaskChange:
    """Whether a prompt begins a new task, and why."""

    new: bool
    reason: str


def change(task: Task, prompt: str, when: float) -> TaskChange:  # noqa: PLR0911 - one per reason
    """Whether the prompt begins another task.

    Fillers, short prompts and prompts that refer back continue the current task. A cue ("now
    let's", "forget that") begins another one. So does a prompt with neither words nor files in
    common, if it names another file, follows a pause, or the task before was finished.
    """
    if not task.prompts:
        return TaskChange(True, "the first prompt")
    if is_new_task(prompt):
        return TaskChange(True, "the user says so")
    asked = terms(prompt)
    if len(asked) < _FEW_WORDS:
        return TaskChange(False, "too short to tell")
    cohesion = similarity(dict.fromkeys(asked, 1.0), task.bag)
    if cohesion >= COHESION or len(set(asked) & task.bag.keys()) > 1:
        return TaskChange(False, f"it shares words with the task ({cohesion:.2f})")
    files = frozenset(file_names(prompt))
    if files & task.files:
        return TaskChange(False, "it names a file of the task")
    if files and task.files:
        return TaskChange(True, "other words and other files")
    if when - task.last > LONG_PAUSE_MINUTES:
        return TaskChange(True, "other words after a pause")
    if task.finished:
        return TaskChange(True, "other words after the task was finished")
    return TaskChange(False, "no sign of another task")


def finished(prompt: str) -> bool:
    """Whether a prompt says that the current task is done ("thanks, that works")."""
    return bool(_FINISHED.match(prompt))


def refers_back(prompt: str) -> bool:
    """Whether a prompt refers to something from before ("the bug we fixed last time")."""
    return bool(_BACK.search(prompt))
