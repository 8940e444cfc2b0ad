"""Errors of the services, in one set of words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest

from tierline.providers.errors import (
    from_event,
    from_exception,
    from_status,
    quote,
    retry_after,
)
from tierline.providers.overflows import overflow

OVERFLOWS = [
    "prompt is too long: 210000 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
    "(8000 in the messages, 1000 in the completion). Please reduce the length of the messages.",
    "Input tokens exceed the configured limit of 272000 tokens.",
    "Your input exceeds the context window of this model.",
    "request (4031 tokens) exceeds the available context size (2048 tokens), try increasing it",
    "Range of input length should be [1, 129024]",
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    "the request exceeds the available context size",
    "Input is too long for requested model.",
    "input size must lie within 1 and 940000",
    "too many tokens",
    # LM Studio, TGI, others
    "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded "
    "with context length of only 4096 tokens, which is not enough.",
    "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 "
    "`max_new_tokens`",
    "Your prompt exceeds the model's max input length of 8000.",
    "The model's max context length was reached.",
    "error: context_length_exceeded",
]
OTHERS = [
    "messages: unknown field foo",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
    "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
    "Invalid 'messages[1].tool_calls[0].id': string too long. Expected at most 40 characters.",
    "messages: roles must alternate between user and assistant",
    "tools.0.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    "The model `x` does not support tools in this context.",
    "temperature: must be between 0 and 1",
    "Invalid value for 'prompt_cache_key'.",
]


@pytest.mark.parametrize("text", OVERFLOWS)
def test_overflow_is_known_by_many_wordings(text: str) -> None:
    assert overflow(400, "invalid_request_error", "", text)


@pytest.mark.parametrize("text", OTHERS)
def test_other_refusals_are_not_taken_for_overflow(text: str) -> None:
    assert not overflow(400, "invalid_request_error", "", text)
    assert from_status("X", 400, {"error": {"message": text}}).code == "bad_request"


def test_a_rate_limit_that_speaks_of_tokens_is_not_overflow() -> None:
    body = {"error": {"message": "Too many tokens per min. Limit 30000", "code": "x"}}
    error = from_status("X", 429, body)
    assert (error.code, error.retryable) == ("rate_limited", True)


@pytest.mark.parametrize(
    ("status", "body", "code", "retryable"),
    [
        (400, {"error": {"message": "no"}}, "bad_request", False),
        (401, {"error": {"message": "no"}}, "auth", False),
        (402, "", "rate_limited", False),
        (403, {"error": {"message": "no"}}, "auth", False),
        (404, {"error": {"message": "no"}}, "bad_request", False),
        (408, "", "unavailable", True),
        (413, "Request too large", "overflow", False),
        (422, {"detail": "no"}, "bad_request", False),
        (429, {"error": {"message": "slow down"}}, "rate_limited", True),
        (429, {"error": {"code": "insufficient_quota", "message": "x"}}, "rate_limited", False),
        (429, {"error": {"message": "Request too large for m on TPM"}}, "rate_limited", False),
        (500, "", "unavailable", True),
        (501, "", "unavailable", False),
        (502, "<html>bad gateway</html>", "unavailable", True),
        (503, "", "overloaded", True),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, "overloaded", True),
    ],
)
def test_status_to_code(status: int, body: Any, code: str, retryable: bool) -> None:
    error = from_status("X", status, body)
    assert (error.code, error.retryable, error.http_status) == (code, retryable, status)
    assert error.message.endswith(".")
    assert error.advice.endswith(".")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"error": {"type": "overloaded_error", "message": "x"}}, "overloaded"),
        ({"error": {"type": "api_error", "message": "x"}}, "unavailable"),
        ({"error": {"code": 503, "message": "loading model"}}, "overloaded"),
        ({"error": {"type": "exceed_context_size_error", "message": "x"}}, "overflow"),
        ({"error": "plain words"}, "bad_request"),
    ],
)
def test_errors_inside_a_stream(body: Any, code: str) -> None:
    assert from_event("X", body).code == code


def test_keys_never_reach_a_message() -> None:
    key = "zz-very-own-key"
    texts = [
        "Incorrect API key provided: sk-proj-abc***xyz.",
        f"header was Bearer {key}",
        f"the key {key} is odd",
        "url ?key=AIzaSyabc",
    ]
    for text in texts:
        for status in (400, 401, 403, 404, 429, 500):
            error = from_status("X", status, {"error": {"message": text}}, secret=key)
            shown = error.message + error.advice + str(error)
            for secret in (key, "sk-proj", "xyz", "AIza"):
                assert secret not in shown


def test_quotes_are_short_and_pages_of_a_proxy_are_left_out() -> None:
    assert len(quote("a" * 5000)) < 320
    assert quote("<html><body>502</body></html>") == "."
    assert quote("two\nlines") == ": “two lines”."


NOW = datetime(2026, 11, 28, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sat, 28 Nov 2026 12:00:30 GMT"}, 30.0),
        ({"retry-after": "Sat, 28 Nov 2026 11:00:00 GMT"}, 0.0),
    ],
)
def test_retry_after_in_every_form(headers: dict[str, str], want: float | None) -> None:
    assert retry_after(headers, NOW) == want


async def test_a_connection_that_we_closed_is_no_trouble_of_the_network() -> None:
    """Another provider is chosen while this one is asked for a summary: as httpx puts it."""
    client = httpx2.AsyncClient()
    await client.aclose()
    with pytest.raises(RuntimeError) as raised:
        await client.get("http://127.0.0.1:9/")
    found = from_exception("OpenAI", raised.value)
    assert (found.code, found.retryable) == ("closed", False)
    assert found.message == "Another model was chosen while OpenAI was asked."
    assert found.advice == "Ask again."
