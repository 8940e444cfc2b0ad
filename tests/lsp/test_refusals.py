"""What a server refuses is learnt: sent again once without it, told in one line, remembered."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

from lsp.conftest import Start
from lsp.editor import Editor
from tierline import protocol as p
from tierline.providers.choice import rerender
from tierline.store.plans import PlanStore
from wire.agents import Use, calls, says
from wire.scripts import dumps, o_reply, text_error
from wire.servers import Reply, WireServer, wire_server

Body = dict[str, Any]
JSON = {"content-type": "application/json"}


def refuse(value: Any, status: int = 400) -> Reply:
    return Reply([dumps(value).encode()], status, JSON)


def error(message: str, status: int = 400, **more: Any) -> Reply:
    return refuse({"error": {"message": message, "type": "invalid_request_error", **more}}, status)


def lacks(name: str) -> Callable[[Body], bool]:
    return lambda body: name not in body


def first(body: Body) -> Any:
    return body["messages"][0]


def no_system(body: Body) -> bool:
    """The instructions stand before the first prompt."""
    roles = [m["role"] for m in body["messages"]]
    return (
        "system" not in roles and roles[0] == "user" and "Is it" in body["messages"][-1]["content"]
    )


def is_limited(most: int) -> Callable[[Body], bool]:
    return lambda body: body["max_tokens"] == most


def is_other_field(body: Body) -> bool:
    return "max_tokens" not in body and body["max_completion_tokens"] > 0


@frozen
class Case:
    refusal: Reply
    right: Callable[[Body], bool]
    says: str
    """A part of the line that the user gets."""
    reply: Reply = field(factory=lambda: o_reply("Yes."))


NO_TOOLS = lacks("tools")
CASES: dict[str, Case] = {
    "Ollama, tools": Case(
        refuse({"error": "registry/some-model does not support tools"}), NO_TOOLS, "no tools"
    ),
    "OpenRouter, tools": Case(
        error("No endpoints found that support tool use. To learn more …", 404, code=404),
        NO_TOOLS,
        "no tools",
    ),
    "vLLM, tools": Case(
        refuse(
            {
                "object": "error",
                "message": '"auto" tool choice requires --enable-auto-tool-choice and '
                "--tool-call-parser to be set",
                "type": "BadRequestError",
                "param": None,
                "code": 400,
            }
        ),
        NO_TOOLS,
        "no tools",
    ),
    "llama.cpp, tools": Case(
        error("tools param requires --jinja flag", 500, code=500), NO_TOOLS, "no tools"
    ),
    "functions": Case(
        text_error("Function calling is not enabled for this model", 400), NO_TOOLS, "no tools"
    ),
    "the other field": Case(
        error(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            param="max_tokens",
            code="unsupported_parameter",
        ),
        is_other_field,
        "max_completion_tokens instead of max_tokens",
    ),
    "the other field, LiteLLM": Case(
        error(
            "litellm.UnsupportedParamsError: azure does not support parameters: "
            "['max_tokens'], for model=o1. To drop these, set `litellm.drop_params=True`",
            500,
        ),
        is_other_field,
        "instead",
    ),
    "stream options, 422": Case(
        refuse(
            {
                "detail": [
                    {
                        "type": "extra_forbidden",
                        "loc": ["body", "stream_options"],
                        "msg": "Extra inputs are not permitted",
                        "input": {"include_usage": True},
                    }
                ]
            },
            422,
        ),
        lacks("stream_options"),
        "does not take stream_options",
    ),
    "stream options, Go": Case(
        text_error('json: unknown field "stream_options"', 400),
        lacks("stream_options"),
        "stream_options",
    ),
    "stream options, JSON schema": Case(
        error("Additional properties are not allowed ('stream_options' was unexpected)", 400),
        lacks("stream_options"),
        "stream_options",
    ),
    "stream options, old OpenAI": Case(
        error("Unrecognized request argument supplied: stream_options"),
        lacks("stream_options"),
        "stream_options",
    ),
    "stream options, Python": Case(
        error("create() got an unexpected keyword argument 'stream_options'", 500),
        lacks("stream_options"),
        "stream_options",
    ),
    "a limit": Case(
        error("max_tokens must be less than or equal to 4096"), is_limited(4096), "at most 4,096"
    ),
    "a limit, OpenAI": Case(
        error(
            "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, "
            "whereas you provided 8192.",
            param="max_tokens",
            code="invalid_value",
        ),
        is_limited(4096),
        "4,096",
    ),
    "a limit, a range": Case(
        error("Range of max_tokens should be [1, 2048]", code="InvalidParameter"),
        is_limited(2048),
        "2,048",
    ),
    "a limit, an open range": Case(
        refuse(
            [
                {
                    "error": {
                        "code": 400,
                        "message": "Unable to submit request because it has a maxOutputTokens value"
                        " of 8192 but the supported range is from 1 (inclusive) to 4097"
                        " (exclusive). Update the value and try again.",
                        "status": "INVALID_ARGUMENT",
                    }
                }
            ]
        ),
        is_limited(4096),
        "4,096",
    ),
    "a limit, pydantic": Case(
        refuse(
            {
                "detail": [
                    {
                        "loc": ["body", "max_tokens"],
                        "msg": "Input should be less than or equal to 4096",
                        "type": "less_than_equal",
                        "ctx": {"le": 4096},
                    }
                ]
            },
            422,
        ),
        is_limited(4096),
        "4,096",
    ),
    "a limit, Bedrock": Case(
        error(
            "The maximum tokens you requested exceeds the model limit of 4,096. Try again with a "
            "maximum tokens value that is lower than 4,096."
        ),
        lambda body: body["max_tokens"] in (4095, 4096),
        "at most 4,09",
    ),
    "a system message": Case(refuse({"error": "System role not supported"}), no_system, "system"),
    "a system message, Gemma": Case(
        error("Developer instruction is not enabled for models/gemma-3-27b-it"), no_system, "system"
    ),
    "a system message, OpenAI": Case(
        error(
            "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
            param="messages[0].role",
            code="unsupported_value",
        ),
        no_system,
        "system",
    ),
    "roles in turn": Case(
        error(
            "Conversation roles must alternate user/assistant/user/assistant/... "
            "(TemplateError in chat_template)",
            500,
        ),
        no_system,
        "in turn",
    ),
    "a stream": Case(
        error(
            "Unsupported value: 'stream' does not support true with this model. Only the default "
            "(false) value is supported.",
            param="stream",
            code="unsupported_value",
        ),
        lambda body: body["stream"] is False and "stream_options" not in body,
        "does not stream",
        Reply([dumps({"choices": [{"message": {"content": "Yes."}}]}).encode()], 200, JSON),
    ),
}


async def choose(editor: Editor, model: WireServer, name: str) -> None:
    params = p.ProviderSelectParams(name="openai", model=name, base_url=model.url)
    await editor.ask("provider/select", params)


def adapted(editor: Editor) -> list[str]:
    return [notice.text for notice in editor.bodies(p.Notice) if notice.code == "adapted"]


async def test_a_refusal_that_names_a_part_is_learnt(start: Start) -> None:
    script = [each for case in CASES.values() for each in (case.refusal, case.reply, case.reply)]
    with wire_server("openai", script) as model:
        editor = await start(model)
        for number, (how, case) in enumerate(CASES.items()):
            await choose(editor, model, f"model-{number}")
            editor.events.clear()
            for prompt in ("Is it?", "Is it so?"):
                end = await editor.chat(f"{prompt} {how}")
                assert (end.outcome, end.error) == ("ok", ""), how
                assert end.message and end.message.text == "Yes.", how
                assert case.right(model.bodies[-1]), (how, model.bodies[-1])
            told = adapted(editor)
            assert len(told) == 1 and case.says in told[0], (how, told)
            assert len(model.bodies) == 3 * number + 3, how
            assert len({request.raw for request in model.requests[-3:]}) == 3, how


async def test_what_was_learnt_outlives_the_process_and_its_plans_render_again(
    start: Start, workspace: Path
) -> None:
    script = [error("unknown field: stream_options"), o_reply("A.", usage=None), o_reply("B.")]
    with wire_server("openai", script) as model:
        editor = await start(model)
        end = await editor.chat("One?")
        assert end.usage is not None and end.usage.estimated, "nothing was reported"
        await editor.stop()
        editor = await start(model)
        await editor.chat("Two?")
        assert ["stream_options" in body for body in model.bodies] == [True, False, False]
        await editor.stop()
        sent = [hashlib.sha256(request.raw).hexdigest() for request in model.requests]
    store = PlanStore(workspace / ".tierline" / "plans.sqlite3")
    for stored in store.list():
        prompt = store.load_prompt(stored.plan.plan_id)
        again = rerender(prompt, stored.provider, stored.request_sha256)
        assert again.sha256 == stored.request_sha256 in sent
    store.close()


async def test_several_refusals_are_corrected_one_after_the_other(start: Start) -> None:
    script = [
        error("Unsupported parameter: 'stream_options'", param="stream_options"),
        error("m does not support tools"),
        error("max_tokens: must be at most 1,024"),
        error("System role not supported"),
        o_reply("Yes."),
    ]
    with wire_server("openai", script) as model:
        editor = await start(model)
        end = await editor.chat("Is it?")
        assert end.message and end.message.text == "Yes."
        last = model.bodies[-1]
    assert set(last) == {"model", "messages", "max_tokens", "stream"}
    assert last["max_tokens"] == 1024 and no_system(last)
    assert len(adapted(editor)) == 4


@pytest.mark.parametrize(
    "refusal",
    [
        error("Unsupported parameter: 'frequency_penalty'", param="frequency_penalty"),
        error("The model `gpt-9` does not exist", 404, param="model", code="model_not_found"),
        error("Your prompt was flagged: do not use tool tips"),
    ],
)
async def test_a_refusal_that_nothing_can_be_done_about_is_told_after_one_request(
    start: Start, refusal: Reply
) -> None:
    with wire_server("openai", [refusal]) as model:
        editor = await start(model, tools={"enabled": "off"})
        end = await editor.chat("Is it?")
        assert (end.outcome, end.code) == ("error", "bad_request")
        assert len(model.bodies) == 1
    assert adapted(editor) == []


async def test_the_same_bytes_are_never_sent_twice(start: Start) -> None:
    with wire_server("openai", [error("This model does not support tools")]) as model:
        editor = await start(model)
        end = await editor.chat("Is it?")
        assert end.outcome == "error"
        sent = [request.raw for request in model.requests]
    assert len(sent) == len(set(sent)) == 2


async def test_calls_of_earlier_turns_are_told_as_text_to_a_model_without_tools(
    start: Start,
) -> None:
    script = [
        calls("openai", Use("read_file", {"path": "src/a.py"})),
        says("openai", "Read."),
        refuse({"error": "does not support tools"}),
        o_reply("Yes."),
    ]
    with wire_server("openai", script) as model:
        editor = await start(model)
        await editor.chat("Read it.")
        end = await editor.chat("Is it?")
        assert end.message and end.message.text == "Yes."
        last = json.dumps(model.bodies[-1])
    assert '"tool' not in last and "def alpha" in last and "called read_file" in last


async def test_ids_of_calls_are_written_as_the_server_wants_them(start: Start) -> None:
    """As Mistral's do: after another provider's calls, and where a gateway makes long ids."""
    script = [
        calls("openai", Use("read_file", {"path": "src/a.py"}), Use("list_files")),
        error(
            "Tool call id was call_x but must be a-z, A-Z, 0-9, with a length of 9.", code="3280"
        ),
        says("openai", "Read."),
        says("openai", "Yes."),
    ]
    with wire_server("openai", script) as model:
        editor = await start(model)
        await editor.chat("Read it.")
        await editor.chat("Is it?")
        assert len(model.bodies) == 4, "learnt: refused once"
        for body in model.bodies[2:]:
            asked = [c["id"] for m in body["messages"] for c in m.get("tool_calls", ())]
            told = [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]
            assert asked == told and len(set(asked)) == 2
            assert all(len(one) == 9 and one.isalnum() for one in asked)
            assert body["tools"], "the model keeps its tools"
        assert asked == [
            c["id"] for m in model.bodies[2]["messages"] for c in m.get("tool_calls", ())
        ], "the prefix stays"
        assert adapted(editor) == ["gpt-5 wants 9 letters and digits as a call's id here."]


async def test_as_many_tools_are_offered_as_the_server_takes(start: Start) -> None:
    script = [
        error("Invalid 'tools': array too long. Expected an array with maximum length 8."),
        says("openai", "Yes."),
        says("openai", "Yes."),
    ]
    with wire_server("openai", script) as model:
        editor = await start(model)
        await editor.chat("Is it?")
        await editor.chat("Is it so?")
        assert len(model.bodies[0]["tools"]) > 8
        assert [len(body["tools"]) for body in model.bodies[1:]] == [8, 8]
        assert "at most 8 tools here: the rest are left out" in adapted(editor)[0]


async def test_a_tool_whose_definition_is_refused_is_left_out_alone(start: Start) -> None:
    """As those of MCP servers may be: each costs itself, and four of them not many requests."""
    names = ("list_files", "read_file", "propose_edit", "manage_scratchpad")
    script = [
        error(f"Invalid schema for function '{name}': array schema missing items.")
        for name in names
    ]
    with wire_server("openai", [*script, says("openai", "Yes."), says("openai", "Yes.")]) as model:
        editor = await start(model)
        await editor.chat("Is it?")
        await editor.chat("Is it so?")
        offered = [{t["function"]["name"] for t in body["tools"]} for body in model.bodies]
        assert offered[0] >= set(names)
        assert offered[4] == offered[5] == offered[0] - set(names)
        assert adapted(editor)[0].endswith("the tool list_files here: it is left out.")


async def test_a_call_that_the_model_got_wrong_is_made_again_and_takes_no_tools_away(
    start: Start,
) -> None:
    failed = error(
        "tool call validation failed: parameters for tool read_file did not match schema",
        code="tool_use_failed",
    )
    with wire_server("openai", [failed, says("openai", "Yes.")]) as model:
        editor = await start(model)
        end = await editor.chat("Is it?")
        assert end.message and end.message.text == "Yes."
        first, second = model.bodies
    assert first == second and second["tools"]
    assert adapted(editor) == []
