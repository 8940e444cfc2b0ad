"""A request that is too large, in the words of many services: learnt, made smaller, sent again."""

from __future__ import annotations

import base64
import json

import pytest

from lsp.conftest import Start
from lsp.editor import Editor
from lsp.test_refusals import choose, error
from tierline import protocol as p
from wire.scripts import a_error, a_reply, o_reply, text_error
from wire.servers import Reply, Request, Reset, WireServer, wire_server

WORD = "consideration "
LIMITED: dict[str, tuple[Reply, int]] = {
    "xAI": (
        error("This model's maximum prompt length is 4096 but the request contains 9000 tokens."),
        4096,
    ),
    "LM Studio": (
        error(
            "the number of tokens to keep from the initial prompt is greater than the context "
            "length (n_keep: 9000 >= n_ctx: 4096)"
        ),
        4096,
    ),
    "llama.cpp": (
        error(
            "the request exceeds the available context size, try increasing it",
            type="exceed_context_size_error",
            n_prompt_tokens=9000,
            n_ctx=4096,
        ),
        4096,
    ),
    "OpenAI": (
        error(
            "This model's maximum context length is 8192 tokens. However, you requested 9000 "
            "tokens (800 in the messages, 8200 in the completion).",
            code="context_length_exceeded",
        ),
        8192,
    ),
    "Groq": (
        error(
            "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested "
            "9000, please reduce your message size and try again.",
            413,
            code="rate_limit_exceeded",
        ),
        6000,
    ),
    "vLLM": (
        error(
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum "
            "context length is 4096 tokens and your request has 3000 input tokens "
            "(8192 > 4096 - 3000)."
        ),
        4096,
    ),
    "without a figure": (text_error("the input length exceeds the context length", 400), 0),
}


async def fill(editor: Editor, number: int) -> None:
    """Something that can leave."""
    name = f"big{number}.txt"
    (editor.workspace / name).write_text(f"{number} " + WORD * 9000)
    await editor.ask("files/add", p.FileParams(path=name))


async def test_the_limit_is_learnt_and_a_smaller_request_sent(start: Start) -> None:
    script = [each for refusal, _ in LIMITED.values() for each in (refusal, o_reply("Yes."))]
    with wire_server("openai", script) as model:
        editor = await start(model, tools={"enabled": "off"})
        await fill(editor, 0)
        for number, (how, (_, limit)) in enumerate(LIMITED.items()):
            await choose(editor, model, f"model-{number}")
            end = await editor.chat(f"Is it? {how}")
            assert (end.outcome, end.error) == ("ok", ""), how
            assert len(model.bodies) == 2 * number + 2, how
            large, small = (len(request.raw) for request in model.requests[-2:])
            assert small < large / 2, how
            budget = await editor.ask("budget/get")
            assert not limit or budget.max_input_tokens == limit, how


async def test_what_cannot_be_made_smaller_is_told_after_one_request(start: Start) -> None:
    for refusal in (
        error("This model's maximum prompt length is 300 but the request contains 900 tokens."),
        text_error("the input length exceeds the context length", 400),
    ):
        with wire_server("openai", [refusal]) as model:
            editor = await start(model, tools={"enabled": "off"})
            end = await editor.chat(WORD * 600)
            assert (end.outcome, end.code) == ("error", "overflow")
            assert "larger than" in end.error and "horten" in end.advice
            assert len(model.bodies) == 1
            await editor.stop()


def picture(number: int, size: int) -> p.ImageInput:
    """A PNG's head and noise, of so many bytes."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x20\x08\x02\0\0\0"
    data = head + bytes([number]) * (size - len(head))
    return p.ImageInput(media_type="image/png", data=base64.b64encode(data).decode())


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
async def test_older_pictures_leave_before_a_body_grows_too_large(start: Start, kind: str) -> None:
    reply = a_reply("Yes.") if kind == "anthropic" else o_reply("Yes.")
    with wire_server(kind, [reply]) as model:  # type: ignore[arg-type]
        editor = await start(model, tools={"enabled": "off"})
        for number in range(12):
            end = await editor.chat(f"Picture {number}", images=[picture(number, 3_000_000)])
            assert end.outcome == "ok", end.error
        end = await editor.chat("And now in words.")
        assert (end.outcome, end.error) == ("ok", "")
        assert max(len(request.raw) for request in model.requests) < 32_000_000
        assert "an older picture was here" in json.dumps(model.bodies[-1])
        told = [n.text for n in editor.bodies(p.Notice) if "older picture" in n.text]
    assert told and "32 MB" in told[0]


async def test_a_service_that_takes_less_is_learnt_from_its_413(start: Start) -> None:
    refusal = a_error("request_too_large", "Request exceeds the maximum size", 413)
    script = [a_reply("A."), a_reply("B."), refusal, a_reply("C."), a_reply("D.")]
    with wire_server("anthropic", script) as model:
        editor = await start(model, tools={"enabled": "off"})
        for number in range(3):
            end = await editor.chat(f"Picture {number}", images=[picture(number, 200_000)])
            assert (end.outcome, end.error) == ("ok", "")
        end = await editor.chat("And now in words.")
        assert end.message and end.message.text == "D."
        sizes = [len(request.raw) for request in model.requests]
    assert len(sizes) == 5
    assert sizes[3] < sizes[2] > sizes[4]


class TakesLittle(WireServer):
    """Refuses bodies of more than 600,000 bytes, as the proxies before many services do."""

    def __init__(self, refusal: Reply) -> None:
        super().__init__("openai", [])
        self.refusal = refusal

    def _next(self, request: Request) -> Reply:
        self.requests.append(request)
        return self.refusal if len(request.raw) > 600_000 else o_reply("Yes.")


NGINX = "<html><head><title>413 Request Entity Too Large</title></head></html>"


@pytest.mark.parametrize(
    ("refusal", "most"),
    [
        (text_error(NGINX, 413), 4),
        (text_error("request body is too large: at most 600,000 bytes", 413), 1),
        (Reply(before=Reset()), 5),
    ],
    ids=["nginx", "a limit in bytes", "closed without a word"],
)
async def test_a_conversation_goes_on_before_a_proxy_that_takes_small_bodies_only(
    start: Start, refusal: Reply, most: int
) -> None:
    async with TakesLittle(refusal) as model:
        editor = await start(model, tools={"enabled": "off"})
        for number in range(4):
            end = await editor.chat(f"{number} " + WORD * 20_000)
            assert (end.outcome, end.error) == ("ok", ""), number
        large = [r.raw for r in model.requests if len(r.raw) > 600_000]
        assert 1 <= len(large) <= most
        once = 2 if refusal.before is not None else 1  # a lost connection is tried once more
        assert max(large.count(body) for body in large) <= once
        known = len(large)
        end = await editor.chat("And in short?")
        assert (end.outcome, end.error) == ("ok", "")
        assert len([r for r in model.requests if len(r.raw) > 600_000]) == known
