"""Overflow in the words of many services: recognised, and which number is the limit."""

from __future__ import annotations

import pytest

from tierline.providers.overflows import Overflow, overflow, room_after

TOLD = [
    (400, "This model's maximum prompt length is 131072 but the request contains 140210 tokens.",
     131072, 140210),
    (400, "the number of tokens to keep from the initial prompt is greater than the context length "
     "(n_keep: 9000 >= n_ctx: 4096)", 4096, 9000),
    (400, "prompt is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (400, "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens "
     "(800 in the messages, 8200 in the completion).", 8192, 9000),
    (400, "request (9000 tokens) exceeds the available context size (4096 tokens)", 4096, 9000),
    (400, "Input length 140210 exceeds maximum 131072", 131072, 140210),
    (400, "Input length (140210) exceeds the maximum length (131072)", 131072, 140210),
    (400, "The input token count (1,200,000) exceeds the maximum number of tokens allowed "
     "(1,048,576).", 1048576, 1200000),
    (400, "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 "
     "maximum context length", 131072, 140000),
    (400, "input length and `max_tokens` exceed context limit: 199000 + 20000 > 200000", 200000, 0),
    (400, "Input is too long for requested model.", 0, 0),
    (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 9000",
     6000, 9000),
    (429, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 36000.",
     30000, 36000),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 512 "
     "`max_new_tokens`", 4097, 5000),
    (400, "Range of input length should be [1, 129024]", 129024, 0),
    (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received "
     "5000.", 4081, 5000),
    (400, "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum "
     "context length is 4096 tokens and your request has 3000 input tokens.", 4096, 8192),
    (500, "Trying to keep the first 9000 tokens when context the overflows. However, the model is "
     "loaded with context length of only 4096 tokens", 4096, 9000),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 4096.",
     4096, 9000),
    (400, "Your input exceeds the context window of this model.", 0, 0),
    (400, "invalid params, context window exceeds limit (2013)", 0, 0),
    (400, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
     "300000 tokens.", 272000, 300000),
    (400, "total tokens 9000 is larger than max model length 4096", 4096, 9000),
    (400, "Your request exceeded model token limit: 262144", 262144, 0),
    (400, "prompt token count of 140000 exceeds the limit of 128000", 128000, 140000),
]  # fmt: skip


@pytest.mark.parametrize(("status", "text", "limit", "sent"), TOLD)
def test_the_limit_is_read_from_the_text(status: int, text: str, limit: int, sent: int) -> None:
    found = overflow(status, "", "", text)
    assert found is not None and not found.size
    assert found.limit == limit
    assert sent in (0, found.sent)
    assert found.passing == ("TPM" in text)


@pytest.mark.parametrize(
    ("status", "kind", "text"),
    [
        (413, "", "Request Entity Too Large"),
        (413, "request_too_large", "Request exceeds the maximum size"),
        (413, "", "The maximum request size is 33554432 bytes"),
        (400, "request_too_large", "the body has more than 32 MB"),
    ],
)
def test_a_body_that_is_too_large_in_bytes_is_no_window(status: int, kind: str, text: str) -> None:
    assert overflow(status, kind, "", text) == Overflow(size=True)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "max_tokens must be less than or equal to 4096"),
        (400, "max_tokens is too large: 8192. This model supports at most 4096 completion tokens"),
        (400, "Image exceeds 5 MB maximum"),
        (429, "Rate limit reached: Limit 30000, Used 29000, Requested 5000."),
        (404, "This model's maximum context length is 8192 tokens."),
        (400, "Invalid value for temperature"),
    ],
)
def test_other_refusals_are_no_overflow(status: int, text: str) -> None:
    assert overflow(status, "", "", text) is None


def test_the_next_request_has_what_the_service_counts_as_its_limit() -> None:
    assert room_after(Overflow(4096, 9000), 7500) == 3413
    assert room_after(Overflow(8192, 9000), 800) == 8192, "the reply was counted along"
    assert room_after(Overflow(), 8000) == 6000
    assert room_after(Overflow(size=True), 8000) == 0
