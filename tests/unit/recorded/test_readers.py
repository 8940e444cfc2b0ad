"""Readers of recorded sessions, on sessions that were written for this test."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.recorded import aider, claude_code, cline
from benchmarks.recorded.account import same
from benchmarks.recorded.blocks import edits_in
from benchmarks.recorded.closest import closest
from benchmarks.recorded.folder import recordings
from benchmarks.recorded.recording import Drafting, Edit, Recording, Round, Turn
from benchmarks.recorded.replay import edited
from benchmarks.recorded.sources import dated, git

AIDER = """
# aider chat started at 2025-03-01 10:00:00

> /usr/bin/aider src/shop.py  
> Added src/shop.py to the chat.  

#### give every price two digits  
#### and keep the sign  

I format the price.

> a quotation of the model's own

src/shop.py
```python
<<<<<<< SEARCH
    return str(total)
=======
    return f"{total:.2f}"
>>>>>>> REPLACE
```

That is all.

> Tokens: 1,200 sent, 80 received.  
> Applied edit to src/shop.py  
> Commit 1234567 feat: format prices  

#### /add src/cart.py  
> Added src/cart.py to the chat  

#### /ask what does the cart do?  

#### what does the cart do?  

It adds things up.

#### /undo  
> Commit 1234567 was reset and removed from git  

#### make it three digits  

```
src/shop.py
<<<<<<< SEARCH
    return str(total)
=======
    return f"{total:.3f}"
>>>>>>> REPLACE
```

> Applied edit to src/shop.py  

# aider chat started at 2025-03-02 11:00:00

> Aider v0.86.2  

#### nobody answers this  
> ^C KeyboardInterrupt  
"""  # noqa: W291
TYPED = """
# 2025-03-01 10:00:30.250000
+give every price two digits
+and keep the sign

# 2025-03-01 10:02:00.000000
+/add src/cart.py

# 2025-03-01 10:03:00.000000
+/ask what does the cart do?

# 2025-03-01 10:09:00.000000
+make it three digits
"""
SHOP = "def price(total):\n    return str(total)\n"


def texts(path: str, _when: float | None, commit: str) -> str | None:
    return None if commit else {"src/shop.py": SHOP, "src/cart.py": "items = []\n"}.get(path)


def lived(recording: Recording) -> dict[str, str | None]:
    """The files after the session; fails if an edit does not fit."""
    now: dict[str, str | None] = dict(recording.files)
    for turn in recording.turns:
        now |= turn.changes
        for done in turn.rounds:
            for edit in done.edits:
                before = now.get(edit.path)
                if edit.search is None:
                    now[edit.path] = edit.replace
                else:
                    assert before is not None
                    assert edit.search in before
                    now[edit.path] = before.replace(edit.search, edit.replace, 1)
    return now


def test_aiders_history_becomes_turns_with_files_edits_and_times() -> None:
    (session,) = aider.read(AIDER, "somebody", texts, "h", TYPED)
    first, asked, last = session.turns
    assert first.prompt == "give every price two digits\nand keep the sign"
    assert first.adds == ("src/shop.py",)
    (reply,) = first.rounds
    assert reply.text.startswith("I format the price.\n\n> a quotation")
    assert reply.text.endswith("That is all.")
    assert "SEARCH" not in reply.text
    assert reply.edits == (
        Edit("src/shop.py", "    return str(total)\n", '    return f"{total:.2f}"\n'),
    )
    assert asked.prompt == "what does the cart do?"
    assert asked.adds == ("src/cart.py",)
    assert asked.rounds[0].edits == ()
    assert last.changes == {"src/shop.py": SHOP}, "undone by the user"
    assert [turn.at for turn in session.turns] == [1740823230.25, 1740823380.0, 1740823740.0]
    assert lived(session)["src/shop.py"] == SHOP.replace("str(total)", 'f"{total:.3f}"')


def test_a_history_that_a_formatter_went_through_is_read_as_well() -> None:
    bare = "\n".join(line.rstrip() for line in AIDER.split("\n"))
    (session,) = aider.read(bare, "somebody", texts)
    assert [turn.prompt.split()[0] for turn in session.turns] == ["give", "what", "make"]
    assert len(session.turns[0].rounds[0].edits) == 1


def test_paths_of_windows_and_files_that_were_offered_are_in_the_chat() -> None:
    told = r"""
# aider chat started at 2025-03-01 10:00:00

> Added C:\Users\x\shop\src\shop.py to the chat  

#### what is it?  

A shop. I need the cart.

> src/cart.py  
> Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: y  

#### and now?  

A cart.
"""  # noqa: W291
    (session,) = aider.read(told, "somebody", texts)
    assert [turn.adds for turn in session.turns] == [("src/shop.py",), ("src/cart.py",)]


def test_without_an_input_history_only_the_sessions_beginning_is_known() -> None:
    (session,) = aider.read(AIDER, "somebody", texts)
    assert [turn.at for turn in session.turns] == [1740823200.0, None, None]


def test_a_files_text_is_rebuilt_from_what_edits_looked_for() -> None:
    (session,) = aider.read(AIDER, "somebody")
    assert session.files["src/shop.py"] == "    return str(total)\n"
    assert lived(session)["src/shop.py"] == '    return f"{total:.3f}"\n'


def test_an_edit_of_what_is_not_there_means_that_somebody_changed_the_file() -> None:
    (session,) = aider.read(
        AIDER, "somebody", lambda *_: "def price(total):\n    return str(total * 2)\n# end\n"
    )
    changes = session.turns[0].changes
    assert changes == {"src/shop.py": "def price(total):\n    return str(total)\n# end\n"} or (
        changes == {"src/shop.py": "def price(total):\n    return str(total * 2)\n# end\n"
                    "    return str(total)\n"}
    )  # fmt: skip
    lived(session)


def test_what_a_commit_says_that_the_edit_does_not_was_changed_by_others() -> None:
    def contents(path: str, when: float | None, commit: str) -> str | None:
        return f"{SHOP}# linted\n" if commit else texts(path, when, "")

    (session,) = aider.read(AIDER, "somebody", contents)
    assert session.turns[1].changes == {"src/shop.py": f"{SHOP}# linted\n"}


def line(kind: str, content: object, number: int = 0, **more: object) -> str:
    message = {"role": kind, "content": content}
    if kind == "assistant":
        message["id"] = f"m{number}"
    entry = {"type": kind, "sessionId": "s", "cwd": "/home/x/shop", "message": message}
    return json.dumps({**entry, "timestamp": "2025-03-01T10:00:00.500Z", **more})


def use(number: int, name: str, **given: object) -> str:
    block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
    return line("assistant", [block], number)


def result(number: int, text: str, details: object = None, **more: object) -> str:
    block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, **more}
    return line("user", [block], toolUseResult=details)


def test_claude_codes_lines_become_rounds() -> None:
    path = "/home/x/shop/shop.py"
    whole = {"file": {"content": SHOP, "numLines": 3, "totalLines": 3}}
    lines = [
        line("user", "<command-name>/clear</command-name>"),
        line("user", "Format the price, please."),
        line("assistant", [{"type": "thinking", "thinking": "Where is it?"}], 1),
        line("assistant", [{"type": "text", "text": "I look."}], 1),
        use(1, "Read", file_path=path),
        result(1, "1→def price…", whole),
        use(2, "Edit", file_path=path, old_string="str(total)", new_string="f'{total:.2f}'"),
        result(2, "done", {"originalFile": SHOP}),
        use(3, "Bash", command="pytest"),
        result(3, "2 passed<system-reminder>be good</system-reminder>"),
        use(4, "Edit", file_path=path, old_string="nothing such", new_string="x"),
        result(4, "String to replace not found", is_error=True),
        line("user", "of a helper", isSidechain=True),
        line("assistant", "Done.", 5),
        "{torn",
        line("user", "Thanks!"),
        line("assistant", "You are welcome.", 6),
    ]
    (session,) = claude_code.read(lines, "somebody")
    first, thanks = session.turns
    assert first.prompt == "Format the price, please."
    assert first.at == pytest.approx(1740823200.5)
    rounds = first.rounds
    assert rounds[0].text == "I look."
    assert rounds[0].thinking == "Where is it?"
    assert [(look.name, look.path, look.text) for look in rounds[0].looks] == [
        ("Read", "shop.py", SHOP)
    ]
    edits = [edit for done in rounds for edit in done.edits]
    assert edits == [Edit("shop.py", "str(total)", "f'{total:.2f}'")]
    printed = [look.text for done in rounds for look in done.looks if not look.path]
    assert printed == ["2 passed", "String to replace not found"]
    assert rounds[-1].text == "Done."
    assert thanks.prompt == "Thanks!"
    assert session.files == {"shop.py": SHOP}


def test_clines_history_is_read_from_its_tags() -> None:
    details = "# Current Time\n3/1/2025, 10:00:00 AM (UTC)"
    diff = "<<<<<<< SEARCH\n    return str(total)\n=======\n    return total\n>>>>>>> REPLACE"

    def tag(name: str, **fields: str) -> str:
        inner = "".join(f"<{key}>\n{value}\n</{key}>\n" for key, value in fields.items())
        return f"<{name}>\n{inner}</{name}>"

    history = [
        ("user", f"<task>\nReturn a number\n</task>\n{tag('environment_details', x=details)}"),
        ("assistant", "<thinking>I need it.</thinking>\n" + tag("read_file", path="shop.py")),
        ("user", f"[read_file for 'shop.py'] Result:\n\n{SHOP}"),
        ("assistant", tag("replace_in_file", path="shop.py", diff=diff)),
        ("user", "[replace_in_file for 'shop.py'] Result:\n\nThe content was saved."),
        ("assistant", tag("execute_command", command="pytest")),
        ("user", "[execute_command for 'pytest'] Result:\n\nExecuted.\nOutput:\n1 failed"),
        ("assistant", tag("attempt_completion", result="It returns a number.")),
        ("user", "[attempt_completion] Result:\n\n<feedback>\nAdd a file\n</feedback>"),
        ("assistant", tag("write_to_file", path="new.py", content="x = 1")),
    ]
    told = json.dumps([{"role": r, "content": [{"type": "text", "text": t}]} for r, t in history])
    (session,) = cline.read(told, "somebody", name="n")
    first, second = session.turns
    assert (first.prompt, first.at) == ("Return a number", 1740823200.0)
    assert first.rounds[0].looks[0].path == "shop.py"
    assert first.rounds[0].thinking == "I need it."
    assert first.rounds[1].edits[0].replace == "    return total\n"
    assert "1 failed" in first.rounds[2].looks[0].text
    assert first.rounds[3].text == "It returns a number."
    assert second.prompt == "Add a file"
    assert second.rounds[0].edits == (Edit("new.py", None, "x = 1\n"),)
    assert lived(session) == {"shop.py": SHOP.replace("str(total)", "total"), "new.py": "x = 1\n"}


def test_what_is_no_history_of_cline_is_refused() -> None:
    with pytest.raises(ValueError, match="list of messages"):
        cline.read("{}", "somebody")


BLOCK = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```"


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        (f"a.py\n```\n{BLOCK}", [("a.py", "x\n", "y\n")]),
        (f"### a.py\n```py\n{BLOCK}".replace("\nx", ""), [("a.py", "", "y\n")]),
        ("`a.py`:\n```\n<<<<<<< ORIGINAL\nx\n=======\n>>>>>>> UPDATED\n```", [("a.py", "x\n", "")]),
        ("a.py\n```\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n```", []),
        ("<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE", []),
    ],
)  # fmt: skip
def test_search_and_replace_blocks(text: str, edits: list[tuple[str, str, str]]) -> None:
    assert [(e.path, e.search, e.replace) for e in edits_in(text)[1]] == edits


@pytest.mark.parametrize(
    ("reply", "files", "texts"),
    [
        (
            "Run this in `app.js`:\n```bash\nnpm i\n```\n**src/app.js**:\n```js\nx\n```",
            ["src/app.js"],
            {"src/app.js": "x\n"},
        ),
        ("I change `a.py`.\n\n```python\nx = 1\n```", ["a.py", "b.py"], {"a.py": "x = 1\n"}),
        ("Done:\n\n```python\nx = 1\n```", ["a.py"], {"a.py": "x = 1\n"}),
        ("Done:\n\n```python\nx = 1\n```", ["a.py", "b.py"], {}),
        (
            "README.md\n```\n# It\n```bash\nmake\n```\n```\n",  # aider cut it, too
            ["README.md"],
            {"README.md": "# It\n"},
        ),
        ("path/to/a.py\n````\nx = '```'\n````", ["a.py"], {"a.py": "x = '```'\n"}),
    ],
)
def test_a_listing_of_a_whole_file_is_read_as_aider_reads_it(
    reply: str, files: list[str], texts: dict[str, str]
) -> None:
    assert {e.path: e.replace for e in edits_in(reply, files)[1] if e.search is None} == texts


def test_a_listing_below_a_files_name_is_its_whole_text() -> None:
    said, edits = edits_in("Here:\n\na.py\n```python\nx = 1\n```\nSo it is.", ["a.py"])
    assert edits == (Edit("a.py", None, "x = 1\n"),)
    assert said == "Here:\n\n\nSo it is." or said == "Here:\n\nSo it is."


def test_the_closest_lines_of_a_text() -> None:
    text = "a\nb\nc = 1\nd\n"
    assert text[slice(*closest(text, "b\nc = 2\n"))] == "b\nc = 1\n"
    assert closest(text, "z\n") == (len(text), len(text))


def test_texts_come_from_a_clone_by_commit_or_by_time(tmp_path: Path) -> None:
    def run(*words: str, when: str = "2025-03-01T10:00:00+00:00") -> str:
        dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "HOME": str(tmp_path)}
        done = subprocess.run(
            ("git", "-c", "user.name=n", "-c", "user.email=e@x", *words),
            cwd=tmp_path, env={**dates, "PATH": "/usr/bin:/bin:/usr/local/bin"},
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout.strip()

    run("init", "-q")
    for number, day in enumerate(("01", "03")):
        (tmp_path / "a.py").write_text(f"x = {number}\n", encoding="utf-8")
        run("add", "a.py")
        run("commit", "-qm", "c", when=f"2025-03-{day}T10:00:00+00:00")
    contents = git(tmp_path)
    first = run("rev-parse", "--short", "HEAD~1")
    assert contents("a.py", None, first) == "x = 0\n"
    assert contents("a.py", 1740909600.0, "") == "x = 0\n", "on the second of March"
    assert contents("a.py", 1780000000.0, "") == "x = 1\n"
    assert contents("b.py", 1780000000.0, "") is None


def test_texts_come_from_dated_copies_and_from_nowhere_else(tmp_path: Path) -> None:
    for day in ("2025-03-01", "2025-03-03"):
        (tmp_path / "dated" / day).mkdir(parents=True)
        (tmp_path / "dated" / day / "a.py").write_text(day, encoding="utf-8")
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    contents = dated(tmp_path / "dated")
    assert contents("a.py", 1740909600.0, "") == "2025-03-01"
    assert contents("a.py", 1600000000.0, "") == "2025-03-01", "the oldest there is"
    assert contents("../../secret", 1740909600.0, "") is None


def test_a_folder_gives_sessions_of_each_person_in_turns(tmp_path: Path) -> None:
    for person in ("a", "b"):
        (tmp_path / person).mkdir()
        (tmp_path / person / ".aider.chat.history.md").write_text(AIDER, encoding="utf-8")
        (tmp_path / person / ".aider.input.history").write_text(TYPED, encoding="utf-8")
    (tmp_path / "a" / "old.aider.chat.history.md").write_text(AIDER, encoding="utf-8")
    found = recordings(tmp_path, 10)
    assert [one.person for one in found] == ["a", "b", "a"]
    assert [one.person for one in recordings(tmp_path, 2)] == ["a", "b"]
    assert found[0].turns[1].at == 1740823380.0


BY_ITSELF = """
# aider chat started at 2025-03-01 10:00:00

> Added shop.py to the chat.  

#### two digits  

shop.py
```python
<<<<<<< SEARCH
    return str(total)
=======
    return f"{total:.2f}"
>>>>>>> REPLACE
```

shop.py
```python
<<<<<<< SEARCH
    raise Sold
=======
    raise SoldOut
>>>>>>> REPLACE
```

> Tokens: 1,200 sent, 80 received.  
> The LLM did not conform to the edit format.  
> # 1 SEARCH/REPLACE block failed to match!  
>   
> ## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in shop.py  
> <<<<<<< SEARCH  
>     raise Sold  
> =======  
>     raise SoldOut  
> >>>>>>> REPLACE  
>   
> # The other 1 SEARCH/REPLACE block were applied successfully.  

shop.py
```python
<<<<<<< SEARCH
    raise Gone
=======
    raise SoldOut
>>>>>>> REPLACE
```

> Tokens: 1,500 sent, 40 received.  
> Applied edit to shop.py  
> Commit 1234567 fix: raise SoldOut  
> # Fix any errors below, if possible.  
>   
> shop.py:3: F821 undefined name 'SoldOut'  
> Attempt to fix lint errors? (Y)es/(N)o [Yes]: y  

errors.py
```
class SoldOut(Exception):
    pass
```

> Tokens: 1,600 sent, 30 received.  
> errors.py  
> Create new file? (Y)es/(N)o [Yes]: y  
> Applied edit to errors.py  
> export SHOP=1
export ROOM=2        
./shop.py  
> Run shell commands? (Y)es/(N)o/(D)on't ask again [Yes]: n  

#### thanks  
> For more, install this:

pip install more

See the page.  
> Install it? (Y)es/(N)o [Yes]: n  
> https://example.com/shop  
> Add URL to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: y  

You are welcome.
"""  # noqa: W291


def test_what_aider_asked_by_itself_is_a_turn_of_its_own() -> None:
    (session,) = aider.read(BY_ITSELF, "somebody")
    first, again, lint, last = session.turns

    assert [turn.at_once for turn in session.turns] == [False, True, True, False]
    assert again.prompt.startswith("# 1 SEARCH/REPLACE block failed to match!")
    assert lint.prompt.startswith("# Fix any errors below")
    assert lint.prompt.endswith("undefined name 'SoldOut'")
    assert last.prompt == "thanks"
    assert [r.text for r in last.rounds] == ["You are welcome."]
    assert [[e.search for r in t.rounds for e in r.edits] for t in (first, again, lint)] == [
        ["    return str(total)\n"], ["    raise Gone\n"], [None]
    ]  # fmt: skip
    assert last.adds == ()
    assert "SHOP=1" not in str(session) and "./shop.py" not in str(session)


ARCHITECT = """
# aider chat started at 2025-03-01 10:00:00

#### Add file to the chat? (Y)es/(N)o/(A)ll/(S)kip all/(D)on't ask again [Yes]: skip  
> Added src\\my shop.py to the chat.  

#### two digits  

Write two digits.

In the shop.

> Tokens: 4.7k sent, 708 received.  

#### Write two digits.  
####   
#### In the shop.  

src\\my shop.py
```python
<<<<<<< SEARCH
one
=======
two
>>>>>>> REPLACE
```

```cmd
run it
```

> Tokens: 4.0k sent, 100 received.  
> Applied edit to src\\my shop.py  
> Dropping src\\my shop.py from the chat.  

#### <blank>  

#### two digits  

Again?
"""  # noqa: W291


def test_an_architects_plan_and_its_edits_are_one_turn() -> None:
    (session,) = aider.read(ARCHITECT.replace("\\\\", "\\"), "somebody", typed=TWICE)
    first, second = session.turns

    assert [turn.prompt for turn in session.turns] == ["two digits"] * 2
    assert first.rounds[0].text.startswith("Write two digits.\n\nIn the shop.\n\n")
    assert [(e.path, e.replace) for e in first.rounds[0].edits] == [("src/my shop.py", "two\n")]
    assert (first.adds, first.drops) == (("src/my shop.py",), ())
    assert (second.adds, second.drops) == ((), ("src/my shop.py",))
    assert second.at is not None and first.at is not None and second.at - first.at == 60.0


TWICE = """
# 2025-03-01 10:00:30.250000
+two digits

# 2025-03-01 10:01:30.250000
+two digits
"""


def test_each_session_says_for_itself_whether_a_formatter_has_been_through() -> None:
    bare = "\n".join(line.rstrip() for line in BY_ITSELF.split("\n"))
    found = aider.read(f"{bare}\n{BY_ITSELF}", "somebody")

    assert [bool(one.turns[0].rounds[0].edits) for one in found] == [True] * 2
    assert all(one.turns[0].prompt == "two digits" for one in found)


def test_a_listing_that_was_cut_off_is_what_was_written() -> None:
    assert [e.replace for e in edits_in("a.css\n```css\nb {", ["a.css"])[1]] == ["b {\n"]


FILES_ASKED_FOR = """
# aider chat started at 2025-03-01 10:00:00

#### change a.py  

a.py
```
guessed
```

> Tokens: 4.0k sent, 902 received.  
> a.py  
> Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]: y  

a.py
```
known
```

> Tokens: 10.0k sent, 1.6k received.  
> Applied edit to a.py  
"""  # noqa: W291


@pytest.mark.parametrize(
    "offer",
    ["> a.py  \n> Add file to the chat? (Y)es/(N)o", "> Add a.py to the chat? (Y)es/(N)o"],
)
def test_a_reply_that_asked_for_a_file_changed_nothing(offer: str) -> None:
    history = FILES_ASKED_FOR.replace("> a.py  \n> Add file to the chat? (Y)es/(N)o", offer)
    (session,) = aider.read(history, "somebody")
    first, second = session.turns

    assert first.adds == () and not first.rounds[0].edits
    assert second.prompt == "I added these files to the chat: a.py"
    assert second.adds == ("a.py",)
    assert [e.replace for e in second.rounds[0].edits] == ["known\n"]


def test_a_text_that_others_changed_is_not_rebuilt_from_its_beginning() -> None:
    drafting = Drafting("one", "somebody", "aider")
    changes: dict[str, str | None] = {}
    edits = [Edit("a.py", "one()\n", "two()\n"), Edit("a.py", "three()\n", "four()\n")]
    drafting.apply(edits[0], changes)
    drafting.done(Turn("first", (Round("Yes.", (), (edits[0],)),)))
    drafting.changed(changes, "a.py", "nothing()\n")
    drafting.apply(edits[1], changes)

    text = changes["a.py"]

    assert drafting.files["a.py"] == "one()\n"
    assert edited(text, [edits[1]]) == "nothing()\nfour()\n"


def test_claude_code_on_windows_and_what_the_program_says_by_itself() -> None:
    root = "c:\\Users\\x\\shop"
    edit = {"file_path": "C:\\Users\\x\\shop\\a.py", "old_string": "1", "new_string": "2"}
    synthetic = {"role": "assistant", "model": "<synthetic>", "content": "No response requested."}
    opened = "<ide_opened_file>The user opened a.py</ide_opened_file>\n"
    lines = [
        line("user", f"{opened}Two, please.", cwd=root),
        use(1, "Edit", **edit),
        result(1, "The file has been updated."),
        line("assistant", "Done.", 2),
        line("assistant", "", 3, message={**synthetic, "id": "m3"}),
    ]
    (session,) = claude_code.read(lines, "somebody")
    (turn,) = session.turns

    assert turn.prompt == "Two, please."
    assert [(e.path, e.replace) for r in turn.rounds for e in r.edits] == [("a.py", "2")]
    assert [r.text for r in turn.rounds] == ["", "Done."]


def test_a_byte_order_mark_is_no_part_of_a_text() -> None:
    (session,) = aider.read(AIDER.replace("    return str", "\ufeff    return str"), "s")
    (first, *_) = session.turns
    assert first.rounds[0].edits[0].search == "    return str(total)\n"


def test_an_edit_that_changes_nothing_is_none() -> None:
    drafting = Drafting("one", "somebody", "aider")

    assert drafting.apply(Edit("a.py", None, "x\n"), {}) is not None
    assert drafting.apply(Edit("a.py", None, "x\n"), {}) is None
    assert drafting.apply(Edit("a.py", "x\n", "x\n"), {}) is None


def test_a_masked_secret_is_no_wrong_text() -> None:
    real = 'before = 1\ntoken = "6da9a43058a5"\nafter = 2\n'

    assert same('before = 1\ntoken = "[redacted:password]"\nafter = 2\n', real)
    assert not same('before = 1\ntoken = "[redacted:password]"\nafter = 3\n', real)
    assert not same('before = 1\ntoken = "another"\nafter = 2\n', real)
