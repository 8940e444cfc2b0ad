"""What goes into a prompt or back to disk is exactly what it was."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.filelists import sent
from tierline.context.fences import parse_fenced, render_file
from tierline.context.files import FileContext
from tierline.context.filetext import FileText, file_text
from tierline.context.refusals import Reason
from tierline.context.text import clip, clip_end, normalise, sha256, well_formed
from tierline.workspace.decoding import decode, encode_back

contents = st.text(
    st.one_of(st.sampled_from('`~\n \\[]"#ab'), st.characters(codec="utf-8")), max_size=200
)
names = st.lists(
    st.text(
        st.one_of(st.sampled_from('`[] "\n.:é'), st.characters(codec="utf-8")), min_size=1
    ).filter(lambda part: "/" not in part and "\\" not in part and part not in (".", "..")),
    min_size=1,
    max_size=3,
).map("/".join)


@given(st.dictionaries(names, contents, max_size=5))
@example({"a [b]": "```\n", "[id].ts": "x", "a:": "", '"q"': "\n", "a\nb": "````\n```"})
@example({"x": "b\n```python\ny\n```\n", "x [cut: y]": "no newline```"})
def test_each_file_comes_back_from_the_prompt_byte_for_byte(files: dict[str, str]) -> None:
    context = FileContext()
    for name, text in files.items():
        context.put(name, file_text(text))
    expected = {name: normalise(text) for name, text in files.items()}
    fenced = parse_fenced(sent(context))
    assert {file.path: file.text for file in fenced} == expected
    assert len(fenced) == len(expected)


@given(names, contents)
def test_a_file_is_rendered_to_the_same_bytes_each_time(name: str, text: str) -> None:
    once = render_file(name, normalise(text))
    assert once == render_file(name, normalise(text))
    once.encode("utf-8")


@given(
    st.lists(
        st.tuples(st.text("abé ", max_size=4), st.sampled_from(["\n", "\r\n", "\r"])), max_size=12
    ),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be-bom", "utf-32", "cp1252"]),
    st.text("abé", max_size=3),
)
def test_unedited_text_is_written_back_byte_for_byte(
    lines: list[tuple[str, str]], encoding: str, last: str
) -> None:
    raw = "".join(line + end for line, end in lines) + last
    data = (
        b"\xfe\xff" + raw.encode("utf-16-be")
        if encoding == "utf-16-be-bom"
        else raw.encode(encoding)
    )
    text = decode(data)
    if encoding == "cp1252" and text is Reason.UNDECODABLE:
        return  # a run of accents does not read like a western language
    assert isinstance(text, FileText)
    assert "\r" not in text.text
    assert text.sha256 == sha256(text.text)
    assert encode_back(text, text.text) == data


@given(
    st.lists(st.sampled_from(["a\n", "b\r\n", "c\r", "d\n", "e\r\n"]), min_size=3, max_size=15),
    st.data(),
)
def test_an_edit_keeps_the_line_ends_of_the_lines_that_stay(
    lines: list[str], data: st.DataObject
) -> None:
    """Each line's end is told by its letter here, so a wrong end shows wherever the edit falls."""
    text = decode("".join(lines).encode())
    assert isinstance(text, FileText)
    at = data.draw(st.integers(0, len(lines) - 1))
    edited = [line.rstrip("\r\n") for line in lines]
    edited[at] = "NEW"
    written = encode_back(text, "".join(f"{line}\n" for line in edited)).decode()
    before, after = written.split("NEW")
    assert before == "".join(lines[:at])
    assert after.lstrip("\r\n") == "".join(lines[at + 1 :])
    assert after[: len(after) - len(after.lstrip("\r\n"))] in ("\n", "\r\n", "\r")


@given(st.text(st.characters()), st.integers(0, 50))
def test_cuts_encode_and_are_parts_of_the_text(text: str, limit: int) -> None:
    whole = well_formed(text)
    for cut, fits in (
        (clip(text, limit), whole.startswith),
        (clip_end(text, limit), whole.endswith),
    ):
        cut.encode("utf-8")
        assert len(cut) <= limit
        if text == whole:
            assert fits(cut)
        if limit > 40 and len(whole) > limit:
            assert len(cut) >= limit - 32


@given(st.text(st.characters()))
@example("\ud83d\ude0b \ud83d x \ude0b")
def test_mended_text_encodes_and_whole_text_is_untouched(text: str) -> None:
    mended = well_formed(text)
    mended.encode("utf-8")
    assert well_formed(mended) == mended
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        assert mended != text
    else:
        assert mended == text


@settings(max_examples=50)
@given(st.binary(max_size=300))
def test_any_bytes_give_text_or_a_reason(data: bytes) -> None:
    text = decode(data)
    if isinstance(text, FileText):
        assert "\0" not in text.text
        assert encode_back(text, text.text) == data
    else:
        assert text in (Reason.BINARY, Reason.UNDECODABLE)
