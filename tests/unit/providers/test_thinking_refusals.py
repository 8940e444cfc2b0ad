"""Refusals about thinking are known by their words, and others are left alone."""

from __future__ import annotations

import pytest

from tierline.providers.errors import from_status

BOUND = (
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)
MODIFIED = (
    "messages.43.content.7: `thinking` or `redacted_thinking` blocks in the latest assistant "
    "message cannot be modified. These blocks must remain as they were in the original response."
)
KIMI = "thinking is enabled but reasoning_content is missing in assistant tool call message at 3"
GEMINI = "Function call is missing a thought_signature in functionCall parts."


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("thinking_invalid", BOUND),
        ("thinking_invalid", MODIFIED),
        ("thinking_invalid", "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ("thinking_invalid", "The encrypted content gAAA...= could not be verified. Reason: …"),
        ("thinking_invalid", "Thought signature is not valid"),
        ("thinking_missing", KIMI),
        ("thinking_missing", GEMINI),
        (
            "thinking_missing",
            "The `reasoning_content` in the thinking mode must be passed back to the API.",
        ),
        (
            "thinking_missing",
            "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' "
            "item: 'rs_1'.",
        ),
        ("thinking_unknown", "thinking: Extra inputs are not permitted"),
        ("thinking_unknown", "adaptive thinking is not supported on this model"),
        ("thinking_unknown", "This model does not support the effort parameter."),
        ("thinking_unknown", "Unsupported parameter: 'reasoning_effort' is not supported"),
        ("thinking_unknown", "Unrecognized request argument supplied: reasoning_effort"),
        ("thinking_unknown", 'json: unknown field "thinking"'),
        ("thinking_unknown", "thinking.adaptive.block_binding: Extra inputs are not permitted"),
        ("bad_request", "The model kimi-k2-thinking is not supported by this account."),
        ("bad_request", "messages: roles must alternate"),
        ("bad_request", "temperature: Extra inputs are not permitted"),
        ("overflow", "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
def test_a_refusal_is_known_by_its_words(code: str, text: str) -> None:
    error = {"error": {"type": "invalid_request_error", "message": text}}
    assert from_status("The service", 400, error).code == code


def test_other_statuses_say_nothing_about_thinking() -> None:
    error = {"error": {"message": BOUND}}
    assert from_status("The service", 500, error).code == "unavailable"
