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
    (400, "Prompt length (140000) plus max_tokens (8192) is above the maximum of 131072", 131072,
     140000),
    (500, "failed to find a memory slot for the batch (the KV cache is full)", 0, 0),
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
    (400, "Total tokens of image and text exceed max message tokens", 0, 0),
    (400, "max_tokens must be at least 1, got -7232.", 0, 0),
    (400, "The prompt (total length 40000) is too long to fit into the model (context length "
     "32768). Make sure that `max_model_len` is no smaller than the number of text tokens.",
     32768, 40000),
    (422, "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
     4096, 5000),
    (400, "The input (140210 tokens) is longer than the model's context length (131072 tokens).",
     131072, 140210),
    (400, "Requested token count exceeds the model's maximum context length of 131072 tokens. You "
     "requested a total of 140210 tokens: 132018 tokens from the input messages and 8192 "
     "tokens for the completion.", 131072, 140210),
    (500, "input is too large to process. increase the physical batch size", 0, 0),
    (500, "Context size has been exceeded.", 0, 0),
    (400, "Reached context length of 4096 tokens, but this model does not currently support "
     "mid-generation context overflow.", 4096, 0),
    (400, "the input length exceeds the context length", 0, 0),
    (400, "prompt too long; exceeded max context length by 1200 tokens", 0, 0),
    (422, "The number of tokens in the prompt exceeds the model's maximum context length of 32768.",
     32768, 0),
    (400, "too many tokens: size limit exceeded by 11326 tokens. Try a shorter input.",
     0, 0),
    (400, "Please reduce the length of the messages or completion. Current length is 9000 while "
     "limit is 8192", 8192, 9000),
    (400, "litellm.ContextWindowExceededError: BedrockException: Context Window Error - prompt "
     "is too long: 210000 tokens > 200000 maximum", 200000, 210000),
    (400, "Malformed input request: expected maxLength: 200000, actual: 210001, please "
     "reformat your input and try again.", 0, 0),
    (400, "The model returned the following errors: The number of input tokens exceeds the limit. "
     "Max 300000 tokens", 300000, 0),
    (400, "Unable to submit request because the input token count is 1200000 but model only "
     "supports up to 1048576. Reduce the input token count and try again.", 1048576, 1200000),
    (400, "* GenerateContentRequest.contents: token count 1200000 exceeds the maximum of 1048576",
     1048576, 1200000),
    (400, "Prompt length 9000 is greater than max_seq_len 8192", 8192, 9000),
    (400, "Token limit exceeded: the messages have 9000 tokens, the limit is 8192", 8192, 9000),
    (400, "messages: total length of 9000 tokens exceeds the allowed 8192", 8192, 9000),
    (400, "Prompt 超长", 0, 0),
    (400, "输入长度超过模型最大长度限制", 0, 0),
    (400, "Prompt tokens limit exceeded: 12345 > 8000", 8000, 12345),
    (400, "context window is full (4096 tokens)", 4096, 0),
    (400, "The context window of 128k tokens is exceeded", 128000, 0),
    (400, "max context is 32k tokens, got 40k", 32000, 40000),
    (400, "max_tokens + prompt (150000) is larger than the model context 128.000", 128000, 150000),
    (400, "The sum of prompt tokens and max_tokens must not exceed 16 384", 16384, 0),
    (400, "the request length 9000 exceeds the model's limit (max 8192)", 8192, 9000),
    (400, "total tokens 9000 > context 8192", 8192, 9000),
    (400, "This model supports at most 8,192 tokens, your messages have 12,001.", 8192, 12001),
    (400, "Maximum tokens exceeded: prompt has 12,001 tokens, the maximum is 8,192", 8192, 12001),
    (400, "max_total_tokens: 8192. Requested 9000", 8192, 9000),
    (400, "Too many tokens in request: 9000 (max 8192)", 8192, 9000),
    (400, "input_tokens must be less than or equal to 8192, got 9000", 8192, 9000),
    (400, "You passed 9001 input tokens and requested 100 output tokens. However, the model's "
     "context length is only 8192 tokens, resulting in a maximum input length of 8092 tokens.",
     8092, 9001),
    (400, "Please reduce the length of your prompt to 8192 tokens or fewer", 8192, 0),
    (400, "Max input tokens for this model: 4096.", 4096, 0),
    (400, "max_prompt_tokens=4096 exceeded", 4096, 0),
    (503, "prompt too long; context is 4096", 4096, 0),
    (400, "Die maximale Kontextlänge beträgt 8192 Token", 8192, 0),
    (400, "Le contexte maximal est de 8 192 jetons", 8192, 0),
    (400, "模型最大上下文长度为 8192，请求超过限制", 8192, 0),
    (400, "输入长度超过最大限制 8192 tokens", 8192, 0),
    (400, "Context length exceeded (max 8K)", 8000, 0),
    (400, "Invalid 'messages[1].content': string too long. Expected a string with maximum length "
     "10485760, but got a string with length 12000000 instead.", 0, 0),
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
        (400, "", "request body exceeds 4194304 bytes"),
        (400, "", "Invalid request: total message size 2354817 exceeds limit 2097152"),
        (413, "", "<html><head><title>413 Request Entity Too Large</title></head></html>"),
    ],
)
def test_a_body_that_is_too_large_in_bytes_is_no_window(status: int, kind: str, text: str) -> None:
    found = overflow(status, kind, "", text)
    assert found is not None and found.size and not found.limit


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("Request Entity Too Large", 0),
        ("The maximum request size is 33554432 bytes", 33_554_432),
        ("the body has 3,500,000 bytes, more than the limit of 1,048,576 bytes", 1_048_576),
        ("request body larger than 1.5 MB", 1_500_000),
        ("Payload too large (max 512 KiB)", 512_000),
    ],
)
def test_a_limit_in_bytes_is_read_from_the_text(text: str, most: int) -> None:
    assert overflow(413, "", "", text) == Overflow(size=True, most_bytes=most)


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "max_tokens must be less than or equal to 4096"),
        (400, "max_tokens is too large: 8192. This model supports at most 4096 completion tokens"),
        (400, "Image exceeds 5 MB maximum"),
        (429, "Rate limit reached: Limit 30000, Used 29000, Requested 5000."),
        (404, "This model's maximum context length is 8192 tokens."),
        (400, "Invalid value for temperature"),
        (400, "Too many requests: number of tokens used exceeds the limit per minute"),
        (429, "This request would exceed your rate limit of 40,000 input tokens per minute"),
        (429, "Too many tokens, please wait before trying again."),
        (429, "Your account has reached max organization TPM: 32000, current: 33000"),
        (429, "Quota exceeded for generate_content_free_tier_input_token_count, limit: 250000"),
        (400, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens"),
        (400, "Invalid 'max_tokens': integer above maximum value. Expected a value <= 16384"),
        (400, "The maximum tokens you requested exceeds the model limit of 10000."),
        (400, "Range of max_tokens should be [1, 8192]"),
        (400, "`max_tokens` must be greater than `thinking.budget_tokens`"),
        (400, "Too many images and documents: 101 + 0 > 100"),
        (
            400,
            "messages.3.content: one of the image dimensions exceeds max allowed size: 8000 pixels",
        ),
        (400, "A maximum of 4 blocks with cache_control may be provided. Found 5."),
        (400, "Invalid 'tools': array too long. Expected an array with maximum length 128"),
        (400, "tools.0.function.description: too long, maximum length 1024"),
        (400, "prompt_cache_key is too long: maximum length is 64"),
        (400, "Request exceeds the limit of 60 requests per minute"),
        (400, "request timed out: exceeded maximum time of 600 s"),
        (400, "Unrecognized request argument supplied: context_window"),
        (400, "The message content must be a string"),
        (401, "maximum context length"),
        (503, "The service is overloaded, try again in 1 000 ms"),
        (400, "The value 8192 of top_k must be at most 500"),
    ],
)
def test_other_refusals_are_no_overflow(status: int, text: str) -> None:
    assert overflow(status, "", "", text) is None


@pytest.mark.parametrize(
    "field", ["tools[0].function.name", "messages[3].tool_calls[0].id", "user"]
)
def test_a_name_with_too_many_characters_is_no_overflow_whatever_its_code(field: str) -> None:
    text = f"Invalid '{field}': string too long. Expected a string with maximum length 64."
    assert overflow(400, "invalid_request_error", "string_above_max_length", text) is None


def test_the_next_request_has_what_the_service_counts_as_its_limit() -> None:
    assert room_after(Overflow(4096, 9000), 7500) == 3413
    assert room_after(Overflow(8192, 9000), 800) == 8192, "the reply was counted along"
    assert room_after(Overflow(), 8000) == 6000
    assert room_after(Overflow(size=True), 8000) == 0
