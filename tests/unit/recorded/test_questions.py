"""Questions that are made of what was said."""

from __future__ import annotations

from benchmarks.recorded.questions import answered, questions

SAID = """The parser keeps at most 4096 lines in `line_buffer` before it writes.
  312│ # Create a directory structure for the tests with 20 files
  313█ self.create_directories("structure", files=20)
File "/home/x/shop/parser.py", line 378, in read_everything_at_once
tests/basic/test_repo.py:378: AssertionError
```
count_of_lines = 4096  # lines that the parser keeps in its buffer
```
"""


def test_a_listings_numbers_are_no_questions() -> None:
    found = questions([SAID])

    assert [(one.kind, one.answer) for one in found] == [("name", "line_buffer")]


def test_an_answer_counts_where_the_sentences_words_stand() -> None:
    (question,) = questions([SAID])

    assert answered(question, ["It keeps lines in line_buffer until the parser writes at most."])
    assert not answered(question, ["line_buffer"])
