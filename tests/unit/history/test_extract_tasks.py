"""What of a conversation is a task, when it is over, what its answer was; rules; what is a file."""

from __future__ import annotations

import pytest

from support.histories import msg, talk
from tierline.context.blocks import Text, ToolResult
from tierline.history.compaction import CompactionSettings, outline
from tierline.history.extract import LineKind, digest, extractive_summary, standing_rules
from tierline.history.failures import failures, signature
from tierline.history.messages import HistoryRole, Message
from tierline.history.names import file_names

LOGIN = (
    "The login page crashes when the cookie is expired.",
    "The expiry was read as local time. It is compared in UTC now.",
)


def summary(*parts: str | tuple[HistoryRole, str], over: bool = True) -> str:
    return extractive_summary(talk(*parts), budget_tokens=10_000, count=len, finished=over)


# --- questions -----------------------------------------------------------------------------------


def test_an_answered_question_is_not_open_and_keeps_its_answer() -> None:
    text = summary(*LOGIN, "Should we log the expired sessions?", "Yes, at level info.")
    assert "Should we log the expired sessions? → Yes, at level info." in text
    assert "Open tasks" not in text


def test_what_the_model_asks_is_answered_by_the_next_prompt() -> None:
    text = summary(
        LOGIN[0],
        f"{LOGIN[1]} Should we log the expired sessions?",
        "Yes, at level info.",
        "I added the line.",
    )
    assert "Should we log the expired sessions? → Yes, at level info." in text
    assert "Open tasks" not in text


@pytest.mark.parametrize(
    ("question", "reply", "answer"),
    [
        ("Which port does the broker use?", "It depends. The broker listens on port 5671.", "5671"),
        ("Why is the build slow?", "Every test starts a server. Cache it.", "starts a server"),
        ("Can you explain what the cache keeps?", "The cache keeps rendered pages.", "rendered"),
        ("Wo wird die Sitzung gespeichert?", "Die Sitzung liegt in Redis.", "Redis"),
        ("what is the limit", "The limit is 20 requests.", "20 requests"),
        ("Do we still need the old parser?", "No, nothing calls it.", "nothing calls it"),
    ],
)
def test_every_kind_of_question_keeps_its_answer(question: str, reply: str, answer: str) -> None:
    found = digest(talk(question, reply))
    (line,) = found.of(LineKind.ANSWER)
    assert line.startswith(question.rstrip()) and answer in line.split("→")[1]
    assert found.of(LineKind.OPEN) == ()


def test_a_question_that_nobody_answered_is_open_until_another_prompt_comes() -> None:
    asked = "Which port does the broker use?"
    assert digest(talk(asked)).of(LineKind.OPEN) == (asked,)
    later = digest(talk(asked, "", "Please write a login page."))
    assert later.of(LineKind.FACT) == (f"Asked: {asked}",)
    assert asked not in later.of(LineKind.OPEN)


def test_a_request_in_the_form_of_a_question_is_a_task() -> None:
    asked = "Could you add a test for the login page?"
    assert digest(talk(asked, "I will look.")).of(LineKind.OPEN) == (asked,)
    done = digest(talk(asked, "I added test_login.py."))
    assert done.of(LineKind.OPEN) == ()
    assert done.of(LineKind.DONE) == (f"{asked}: I added test_login.py.",)


# --- tasks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "report",
    [
        "I changed the comparison to UTC.",
        "The comparison now uses UTC.",
        "The cookie's date has been moved to UTC.",
        "I rewrote the check.",
        "Ich habe den Vergleich auf UTC umgestellt.",
        "Erledigt: der Vergleich läuft in UTC.",
    ],
)
def test_a_task_is_done_however_the_report_is_worded(report: str) -> None:
    found = digest(talk("Compare the cookie's date in UTC.", report))
    assert found.of(LineKind.OPEN) == ()
    assert report.rstrip(".") in found.of(LineKind.DONE)[0]


@pytest.mark.parametrize(
    "report",
    [
        "I could not change it.",
        "I will change the comparison.",
        "Should I change it?",
        "You should have it changed by the owner of the file.",
    ],
)
def test_what_was_not_done_is_still_open(report: str) -> None:
    asked = "Compare the cookie's date in UTC."
    assert digest(talk(asked, report)).of(LineKind.OPEN) == (asked,)


def test_a_finished_task_has_nothing_open_but_what_was_said_to_be_left() -> None:
    text = summary("Compare the cookie's date in UTC.", "Here is how that would look.")
    assert "Open tasks" not in text and "Here is how" in text
    text = summary("Compare the cookie's date in UTC.", "Fixed. TODO: a test for leap seconds.")
    assert "Open tasks:\n- TODO: a test for leap seconds." in text


def test_work_that_was_left_and_done_later_is_not_open() -> None:
    left = "The test for leap seconds is still missing."
    assert digest(talk("Fix it.", left)).of(LineKind.OPEN)[0] == left
    done = digest(
        talk("Fix it.", left, "Go on.", "The test for leap seconds was added, not missing.")
    )
    assert left not in done.of(LineKind.OPEN)


def test_compaction_knows_that_a_task_is_over_by_the_next_prompt() -> None:
    old = talk(*LOGIN[:1], "The expiry is local time, and that is what you see. " * 40)
    for following, over in (("Next: the rate limiter.", True), ("And the other one?", False)):
        said: list[Message] = [
            *old,
            msg(90, "user", following, group="z"),
            msg(91, "assistant", "ok", group="z"),
        ]
        settings = CompactionSettings(verbatim_window_tokens=60, min_verbatim_exchanges=1)
        made = outline(said, settings, lambda ms: sum(len(str(m.content)) for m in ms) // 4)
        assert made.zone and made.finished is over


# --- rules ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule",
    [
        "From now on always run migrations inside a transaction.",
        "Never commit to main.",
        "Please always use type hints.",
        "You should never use global variables.",
        "Make sure to always run the linter before committing.",
        "Whenever you change the schema, also update the docs.",
        "Going forward, keep functions under 30 lines.",
        "Ab jetzt immer Typannotationen verwenden.",
        "Bitte immer die Tests laufen lassen.",
        "Verwende bitte immer einfache Anführungszeichen.",
        "Ändere niemals die Dateien in vendor.",
        "Antworte immer auf Deutsch.",
        "In Zukunft bitte kurze Antworten.",
    ],
)
def test_a_rule_is_a_rule_once_and_no_task(rule: str) -> None:
    found = digest(talk(rule, "Understood.", f"Please, {rule[0].lower()}{rule[1:]}", "Yes."))
    assert found.of(LineKind.RULE) == (rule,)
    assert found.of(LineKind.OPEN) == found.of(LineKind.DONE) == found.of(LineKind.FACT) == ()
    assert standing_rules(msg(1, "user", rule)) == (rule,)


@pytest.mark.parametrize(
    "sentence",
    [
        "It always fails with a timeout.",
        "That has never been an issue.",
        "Always crashes when I click it.",
        "Never mind.",
        "Das hat nie funktioniert.",
        "Tests schlagen immer fehl.",
        "Why does it always crash?",
        "We never saw that before.",
    ],
)
def test_what_happens_always_or_never_is_no_rule(sentence: str) -> None:
    assert standing_rules(msg(1, "user", sentence)) == ()


def test_a_rule_beside_a_task_leaves_the_task() -> None:
    found = digest(talk("Always use tabs. Please write the login page.", "ok"))
    assert found.of(LineKind.RULE) == ("Always use tabs.",)
    assert found.of(LineKind.OPEN) == ("Please write the login page.",)


# --- files ---------------------------------------------------------------------------------------


DOTTED = """
    user.name session.expired time.Minute np.array e.g. i.e. 1.2.3 v1.2 example.com self.name
    os.path response.json math.log console.log Node.js docs.rs and/or request.user list.map
    process.env app.config df.head System.Text github.com/foo/bar example.com/a.html
    me@site.py models.User user.name/user.email Ph.D. U.S. @types/node @property req.text
    https://example.org/a.html torch.nn this.state event.key cookie.max_age"""


@pytest.mark.parametrize("text", DOTTED.split())
def test_a_dot_makes_no_file(text: str) -> None:
    assert file_names(f"Look at {text} here.") == []
    assert file_names(f"The `{text}` is wrong.") == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *((name, name) for name in (
            "src/a.py", "Makefile", ".env.example", "README.md", "go.mod", "package-lock.json",
            "app.log", ".github/workflows/ci.yml", "Dockerfile.dev", "index.d.ts", "a/b/c.xyz",
            ".env", "deploy/Dockerfile", "main.c", "plot.R", "poetry.lock", "requirements.txt",
        )),
        ("foo.test.ts:12", "foo.test.ts"),
        ("tests/test_x.py::test_y", "tests/test_x.py"),
        ("C:\\src\\a.py", "src/a.py"),
        ("src/a.py#L3", "src/a.py"),
    ],
)  # fmt: skip
def test_files_are_found(text: str, name: str) -> None:
    assert file_names(f"Look at {text} here.") == [name]
    assert file_names(f"(see `{text}`)") == [name]


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("django.core.exceptions.ImproperlyConfigured: no key", "ImproperlyConfigured"),
        ("src/a.ts(3,5): error TS2304: Cannot find name 'x'.", "TS2304"),
        ("main.c:10:5: error: expected ';'", ""),
        ("npm ERR! code ELIFECYCLE", "ELIFECYCLE"),
        ("fatal: not a git repository", ""),
        ("panic: runtime error: index out of range [3]", ""),
        ("bash: foo: command not found", ""),
        ("ld: undefined reference to `foo'", ""),
        ("ORA-00942: table or view does not exist", "ORA-00942"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "ECONNREFUSED"),
        ("java.lang.NullPointerException: Cannot invoke", "NullPointerException"),
        ("--- FAIL: TestX (0.00s)", ""),
    ],
)
def test_an_error_is_known_by_its_shape(line: str, name: str) -> None:
    assert failures(f"starting\n{line}\n") == [line]
    if name:
        assert signature(line) == name


@pytest.mark.parametrize(
    "line",
    [
        "all is well", "Note: use tabs", "RateLimiter: tests are missing", "12 passed, 0 failed",
        "0 errors, 2 warnings", "src/a.py:12: def foo():", "User: hello", "Listening on port 80",
        "DeprecationWarning: old", "the error handling is in a.py",
    ],
)  # fmt: skip
def test_a_colon_makes_no_error(line: str) -> None:
    assert failures(line) == []


def test_the_last_line_of_a_trace_is_the_error_whatever_it_is_called() -> None:
    trace = 'Traceback (most recent call last):\n  File "a.py", line 3\n    next(x)\nStopIteration'
    assert failures(trace) == ["StopIteration"]
    result = msg(1, "user", (ToolResult("c", (Text("a.go:3:2: undefined: foo"),), True),))
    assert digest([result]).of(LineKind.ERROR) == ("a.go:3:2: undefined: foo",)
