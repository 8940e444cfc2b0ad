from __future__ import annotations

import json
import typing

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

import generate
from tierline import protocol
from tierline.lsp.codec import make_converter

CONVERTER = make_converter()


def test_names_are_camel_case_on_the_wire_and_back() -> None:
    params = CONVERTER.structure({"text": "hi", "activeUri": "file:///a"}, protocol.ChatSendParams)
    assert params == protocol.ChatSendParams(text="hi", active_uri="file:///a")
    assert CONVERTER.unstructure(params)["activeUri"] == "file:///a"


@pytest.mark.parametrize(
    "wrong", [{"text": 5}, {"text": None}, {}, [], "text", {"text": "x", "images": [{"data": 1}]}]
)
def test_wrong_shapes_are_refused_and_not_coerced(wrong: object) -> None:
    with pytest.raises(Exception, match=r".+"):
        CONVERTER.structure(wrong, protocol.ChatSendParams)


def test_missing_parameters_are_the_defaults() -> None:
    assert CONVERTER.structure(None, protocol.ModeParams) == protocol.ModeParams()


@given(st.one_of(*(st.from_type(cls) for cls in typing.get_args(protocol.EventBody))))
def test_every_event_survives_the_wire(body: typing.Any) -> None:
    event = protocol.Event(seq=1, session_id="s", body=body)
    wire = json.loads(json.dumps(CONVERTER.unstructure(event)))
    assert wire["body"]["kind"] == body.kind
    assert wire["sessionId"] == "s"
    assert set(wire["body"]) == {protocol.camel(f.name) for f in attrs.fields(type(body))}


def test_generated_files_are_up_to_date() -> None:
    assert generate.main(["--check"]) == 0


def test_every_method_has_a_handler_and_is_documented() -> None:
    from tierline.session.handlers import HANDLERS

    names = [method.name for method in protocol.METHODS]
    assert sorted(HANDLERS) == sorted(names)
    assert len(set(names)) == len(names)
    for method in protocol.METHODS:
        assert method.name.count("/") == 2
        assert method.doc.endswith(".") or method.doc.endswith("?")
        for cls in (method.params, method.result):
            assert attrs.has(cls)
            assert cls.__doc__
