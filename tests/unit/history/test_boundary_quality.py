"""What the local detector's signs and weights are for: chats of known topics, and single signs.

The chats are the hand-written ones of the segmentation benchmark. No weight is held to its figure;
what it does is.
"""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from benchmarks import dialogues
from benchmarks.segmentation import messages, ours
from support.histories import turn
from tierline.history.boundaries import unsure
from tierline.history.boundaries.local import Gap, detect, features, gaps
from tierline.history.boundaries.signs import turns
from tierline.history.messages import Message


@cache
def chats() -> tuple[list[dialogues.Turn], ...]:
    """Each about one thing."""
    parts = []
    for talk, starts in dialogues.hand():
        edges = [0, *sorted(starts), len(talk)]
        parts += [talk[a:b] for a, b in itertools.pairwise(edges)]
    return tuple(parts)


def test_topics_laid_end_to_end_are_told_apart_and_none_is_torn() -> None:
    found = [(gold, ours((talk, gold))) for talk, gold in dialogues.hand()]
    assert not any(guess - gold for gold, guess in found), "no topic is torn"
    assert sum(len(gold - guess) for gold, guess in found) <= 1, "and hardly one change missed"


def test_no_chat_about_one_thing_is_cut() -> None:
    """Compaction drops what lies before a boundary, so a false one costs more than a missed one."""
    assert not [talk for talk in chats() if detect(messages((talk, set()))).sure]


def test_of_two_chats_the_boundary_is_their_join_or_none() -> None:
    size = len(chats())
    pairs = [(chats()[n], chats()[(n + step) % size]) for step in (1, 5) for n in range(size)]
    joined = [dialogues.join([a, b]) for a, b in pairs]
    hits = [(detect(messages(d)), d[1]) for d in joined]
    places = [((hit.boundary_index or 0) // 2 in gold) for hit, gold in hits if hit.sure]
    assert all(places)
    assert len(places) > len(joined) / 2, "most of them"


# --- single signs --------------------------------------------------------------------------------

LOGIN = (
    ("The login page throws KeyError in src/auth/session.py", "Use session.get in load_user."),
    ("now it redirects in a loop", "Exempt /login in require_session in src/auth/session.py."),
    ("should the session cookie be deleted too?", "Yes, call delete_cookie in load_user."),
)


def talk(*pairs: tuple[str, str]) -> list[Message]:
    return [m for n, (prompt, reply) in enumerate(pairs) for m in turn(n, prompt, reply)]


def last(prompt: str, reply: str = "ok") -> Gap:
    """The place before one more prompt."""
    return gaps(talk(*LOGIN, (prompt, reply)))[-1]


@pytest.mark.parametrize(
    ("more", "less"),
    [
        # an announced switch, and the same without it
        ("Next topic: the invoices need totals", "The invoices need totals"),
        # another file, and the one that is at hand
        ("totals are missing in billing/export.py", "totals are missing in src/auth/session.py"),
        # names of code that are new, and those that were used
        ("export_csv returns nothing", "load_user returns nothing"),
        # words that are new, and those of the talk
        ("write an invoice exporter with totals", "does the login page redirect with a session"),
        # another kind of work than before
        ("explain the invoices with totals", "fix the invoices with totals"),
        # a follow-up, and what points back, and the same said anew
        ("invoices need totals everywhere", "and invoices need totals everywhere"),
        ("invoices need totals above the table", "those need that above this, same as it was"),
    ],
)  # fmt: skip
def test_each_sign_speaks_for_a_new_topic_or_against_one(more: str, less: str) -> None:
    assert last(more).probability > last(less).probability


def test_no_single_sign_of_novelty_is_enough() -> None:
    """The next step of the same thing brings a file, a name, another kind of work, a long text."""
    for prompt, reply in (
        ("add a test for the session cookie in tests/test_session.py", "Added, load_user is used."),
        ("Now let's write tests for load_user in tests/test_session.py",
         "Wrote tests for load_user and session.get."),
        ("explain how load_user reads the session", "It calls session.get in src/auth/session.py."),
        ("also rename load_user to fetch_user in src/auth/session.py", "Renamed load_user."),
        ("Next, let's delete the session cookie in load_user on logout", "delete_cookie does."),
        ("the login page redirects to the session page, which throws in load_user again: "
         "the cookie of the session is deleted by the redirect of the login page", "Fixed the "
         "session cookie in load_user."),
    ):  # fmt: skip
        assert not detect(talk(*LOGIN, (prompt, reply))).sure, prompt


def test_a_new_topic_is_seen_however_politely_it_is_put() -> None:
    """Words that point back, or that begin a follow-up, outweigh nothing by themselves: it is acted
    on, or at least a model is asked.
    """
    invoices = "Wrote export_csv in billing/export.py with csv.writer, totals in the last row."
    for prompt in (
        "and write an exporter of invoices as CSV with totals to billing/export.py",
        "write this: an exporter of those invoices that has their totals, in billing/export.py",
        "thanks! invoices should be exported as CSV with totals by billing/export.py",
    ):
        found = detect(talk(*LOGIN, (prompt, invoices)))
        assert found.boundary_index == 6 and (found.sure or unsure(found)), prompt


def test_reasons_name_the_signs() -> None:
    other = detect(talk(*LOGIN, ("Next topic: explain totals in billing/export.py", "ok")))
    assert other.boundary_reason.split(", ")[:2] == ["a switch is announced", "other files"]
    all_of_them = "Next topic: explain how run_all adds invoice totals in billing/export.py"
    reasons = detect(talk(*LOGIN, (all_of_them, "ok"))).boundary_reason.split(", ")
    assert reasons == ["a switch is announced", "other files", "other words"], "no more"
    same = detect(talk(*LOGIN))
    assert "other files" not in same.boundary_reason


def test_shares_are_of_what_was_said_within_the_last_turns() -> None:
    """A file of long ago is new again; one of the last few turns is not."""
    filler = [(f"now paint the fence {n}", "painted") for n in range(12)]
    start = ("look at src/auth/session.py", "seen")
    again = ("look at src/auth/session.py", "seen")
    soon = features(turns(talk(start, *filler[:2], again)))[-1]
    late = features(turns(talk(start, *filler, again)))[-1]
    new, old = 2, 3  # as in FEATURES
    assert (soon[new], soon[old]) == (0.0, 1.0)
    assert (late[new], late[old]) == (1.0, 0.0)
