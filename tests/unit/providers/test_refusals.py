"""A server's refusal in many words: what of the request it names, and what it is not about."""

from __future__ import annotations

from typing import Any

import pytest

from tierline.providers.errors import from_status
from tierline.providers.refusals import ServerRefusal, refusal

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "additionalProperties": False,
}
SENT: dict[str, Any] = {
    "model": "m",
    "max_tokens": 8192,
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0,
    "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Is it"}],
    "tools": [
        {
            "type": "function",
            "function": {
                "name": "read_file",
                "description": "d",
                "strict": True,
                "parameters": SCHEMA,
            },
        }
    ]
    * 40,
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "prompt_cache_key": "k",
}


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def extra(name: str, text: str = "Extra inputs are not permitted") -> dict[str, Any]:
    return {"detail": [{"loc": ["body", name], "msg": text}]}


# fmt: off
REFUSED: list[tuple[int, Any, str, str | int]] = [
    (400, error("This model does not support tools.", param=None), "tools", ""),
    (400, error("`tool calling` is not supported with this model", type="invalid_request_error",
     param=None, code=None), "tools", ""),
    (400, error("Tools are not supported in streaming mode.", param="tools"), "tools", ""),
    (404, error('No endpoints found that support tool use. Try disabling "read_file".'),
     "tools", ""),
    (400, {"detail": "Tool use has not been enabled, because it is unsupported by this model."},
     "tools", ""),
    (500, {"error": "this model's chat template does not support tools"}, "tools", ""),
    (400, error("Function calling is not enabled for models/gemma-3"), "tools", ""),
    (400, error("Unrecognized request argument supplied: tools", param=None), "tools", ""),
    (422, extra("tools"), "tools", ""),
    (400, error("bedrock: This model doesn't support tool use in streaming mode."), "tools", ""),
    (400, error("The model `x` cannot be used with functions"), "tools", ""),
    (400, {"message": "tools is not supported in this model. Available parameters: ...",
     "object": "error"}, "tools", ""),
    (400, {"object": "error", "message": "Tool call id was call_1 but must be a-z, A-Z, 0-9, with "
     "a length of 9.", "type": "invalid_function_call", "param": None, "code": "3280"}, "ids", 9),
    (500, {"detail": "Tool call id was toolu_01 but must be a-z, A-Z, 0-9, with a length of 9."},
     "ids", 9),
    (400, error("Invalid 'tools': array too long. Expected an array with maximum length 32, but "
     "got an array with length 40 instead.", param="tools", code="array_above_max_length"), "many",
     32),
    (400, error("You may not include more than 32 tools in your request."), "many", 32),
    (400, error("'tools' : maximum number of items is 32"), "many", 32),
    (400, error("tools: List should have at most 32 items after validation, not 40"), "many", 32),
    (400, error("The number of function declarations (40) exceeds the limit of 32"), "many", 32),
    (400, error("Invalid schema for function 'read_file': array schema missing items.",
     param="tools[0].function.parameters"), "tool", "read_file"),
    (400, error("tools.39.custom.input_schema: JSON schema is invalid. It must match JSON Schema "
     "draft 2020-12."), "tool", "read_file"),
    (400, error("tools.3.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf "
     "at the top level"), "tool", "read_file"),
    (400, error("* GenerateContentRequest.tools[0].function_declarations[3].parameters."
     "properties[x].items: missing field."), "tool", "read_file"),
    (400, error("Invalid function name 'read_file'. Must start with a letter."), "tool",
     "read_file"),
    (400, error("tools[2].function.parameters: unsupported schema keyword '$ref'"), "tool",
     "read_file"),
    (400, error("Invalid 'tools[2].function.description': string too long. Expected a string with "
     "maximum length 1024, but got a string with length 2048 instead."), "tool", "read_file"),
    (400, error("temperature may only be set to 1 when thinking is enabled."), "field",
     "temperature"),
    (400, error("Invalid consecutive assistant message at message index 3"), "roles", ""),
    (400, error("messages: first message must use the \"user\" role"), "roles", ""),
    (400, error("Last message must have role `user`."), "roles", ""),
    (400, error("Unsupported parameter: 'max_tokens' is not supported with this model. Use "
     "'max_completion_tokens' instead.", param=None, code="unsupported_parameter"), "field",
     "max_tokens"),
    (400, error("max_tokens is not supported with this model", param=None), "field", "max_tokens"),
    (400, error("Unknown parameter: 'max_tokens'. Did you mean 'max_completion_tokens'?",
     param="max_tokens", code="unknown_parameter"), "field", "max_tokens"),
    (400, error("The parameter max_tokens is deprecated; use max_completion_tokens"), "field",
     "max_tokens"),
    (422, extra("max_tokens"), "field", "max_tokens"),
    (400, error("max_tokens: Extra inputs are not permitted"), "field", "max_tokens"),
    (400, error("Unknown field: stream_options"), "field", "stream_options"),
    (422, error("stream_options: Extra inputs are not permitted", param=None), "field",
     "stream_options"),
    (400, error("Unrecognized request argument supplied: stream_options",
     type="invalid_request_error", param=None, code=None), "field", "stream_options"),
    (400, error("'stream_options' is not supported with this model", param=None,
     code="unsupported_parameter"), "field", "stream_options"),
    (400, {"message": "property 'stream_options' is unsupported"}, "field", "stream_options"),
    (422, {"detail": "unexpected keyword argument 'stream_options'"}, "field", "stream_options"),
    (400, 'Unknown name "stream_options": Cannot find field.', "field", "stream_options"),
    (400, [error('Invalid JSON payload received. Unknown name "stream_options": Cannot find '
     'field.', code=400, status="INVALID_ARGUMENT")], "field", "stream_options"),
    (500, {"error": "got an unexpected keyword argument 'stream_options'"}, "field",
     "stream_options"),
    (400, error("include_usage is not a permitted field"), "field", "stream_options"),
    (400, error("The 'stream_options.include_usage' option is not allowed",
     param="stream_options.include_usage"), "field", "stream_options"),
    (400, {"errors": [{"message": "stream_options not supported"}]}, "field", "stream_options"),
    (400, error("Invalid request", details=[{"field": "stream_options", "issue": "not "
     "supported"}]), "field", "stream_options"),
    (400, {"error": "Bad Request", "message": "body: unknown property stream_options"}, "field",
     "stream_options"),
    (400, error("Unknown parameter: 'parallel_tool_calls'.", param=None,
     code="unknown_parameter"), "field", "parallel_tool_calls"),
    (400, error("Unsupported parameter: parallel_tool_calls", param="parallel_tool_calls"),
     "field", "parallel_tool_calls"),
    (400, error("parallel_tool_calls is not supported with this model"), "field",
     "parallel_tool_calls"),
    (400, error("prompt_cache_key: Extra inputs are not permitted"), "field", "prompt_cache_key"),
    (400, error("tools.0.function.strict: Extra inputs are not permitted"), "field",
     "tools/strict"),
    (400, error("Unknown parameter: 'tools[0].function.strict'.",
     param="tools[0].function.strict"), "field", "tools/strict"),
    (400, error("Unsupported value: 'temperature' does not support 0 with this model. Only the "
     "default (1) value is supported.", param="temperature", code="unsupported_value"), "field",
     "temperature"),
    (400, error("temperature is deprecated for this model"), "field", "temperature"),
    (400, error("Invalid schema: additionalProperties is not supported"), "field",
     "tools/additionalProperties"),
    (400, [error("Invalid JSON payload received. Unknown name \"additionalProperties\" at "
     "'tools[0].function.parameters': Cannot find field.")], "field", "tools/additionalProperties"),
    (400, error("tool_choice 'auto' is not supported"), "field", "tool_choice"),
    (400, error("max_tokens must be less than or equal to 4096"), "limit", 4096),
    (400, error("max_tokens (8192) cannot be greater than 4096", param=None), "limit", 4096),
    (400, error("max_tokens: 8192 > 4096, which is the maximum allowed number of output tokens "
     "for m"), "limit", 4096),
    (400, error("Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
     "limit", 4096),
    (422, extra("max_tokens", "Input should be less than or equal to 4096"), "limit", 4096),
    (400, error("The maximum tokens you requested exceeds the model limit of 4096. Try again "
     "with a maximum tokens value that is lower than 4096."), "limit", 4096),
    (400, error("`max_tokens` must be <= 4,096", param="max_tokens"), "limit", 4096),
    (400, error("max_tokens should be at most 4096, got 8192"), "limit", 4096),
    (400, error("Unable to submit request because it has a maxOutputTokens value of 8192 but the "
     "supported range is from 1 (inclusive) to 4097 (exclusive)."), "limit", 4096),
    (400, error("Output token limit: 4096 tokens; requested max_tokens 8192"), "limit", 4096),
    (400, error("max_tokens too high for this model (max 4096)"), "limit", 4096),
    (400, error("number must be in 1..=4096", param="max_tokens"), "limit", 4096),
    (400, error("System role not supported"), "system", ""),
    (500, error("Jinja Exception: System role not supported"), "system", ""),
    (400, error("Developer instruction is not enabled for models/gemma-3-27b-it"), "system", ""),
    (400, error("Unsupported value: 'messages[0].role' does not support 'system' with this "
     "model.", param="messages[0].role", code="unsupported_value"), "system", ""),
    (400, error("messages[0].role: Input should be 'user' or 'assistant'"), "system", ""),
    (400, error("system messages are not allowed for this model", param=None), "system", ""),
    (400, error("This model does not support system prompts"), "system", ""),
    (400, error('Unexpected role "system". The Messages API accepts a top-level `system` '
     'parameter'), "system", ""),
    (400, error("Only user and assistant roles are supported!"), "system", ""),
    (500, error("Only user, assistant and tool roles are supported, got system"), "system", ""),
    (400, error("unknown role: system"), "system", ""),
    (400, error("Invalid value: 'system'. Supported values are: 'user' and 'assistant'.",
     param="messages[0].role"), "system", ""),
    (500, error("Conversation roles must alternate user/assistant/user/assistant/..."), "roles",
     ""),
    (400, error("After the optional system message, conversation roles must alternate user and "
     "assistant"), "roles", ""),
    (400, error("Streaming is not supported for this model"), "stream", ""),
    (400, error("Your organization must be verified to stream this model. ", param="stream",
     code="unsupported_value"), "stream", ""),
    (400, error("stream is not supported with this model", param=None), "stream", ""),
    (400, error("Unsupported value: 'stream' does not support true with this model.",
     param="stream"), "stream", ""),
    (400, error("This model only supports non-streaming requests"), "stream", ""),
]
ABOUT_OTHER_THINGS: list[tuple[int, Any]] = [
    (400, error("Invalid value for content: expected a non-empty string")),
    (400, error("The model `m` does not exist")),
    (404, error("model not found")),
    (400, error("Invalid 'messages[3].content': content must not be empty")),
    (400, error("messages with role 'tool' must follow a message with tool_calls")),
    (400, error("Your request was rejected as a result of our safety system")),
    (401, error("Unsupported parameter: temperature")),
    (429, error("stream is not available: too many requests")),
    (400, error("Invalid JSON: unexpected end of input")),
    (400, error("Content policy violation: this input is not allowed")),
    (500, error("Internal server error")),
    (502, "<html>Bad gateway: no upstream</html>"),
    (400, error("The user was not found in the system")),
    (500, error("upstream stream error: not available")),
    (500, error("Error in input stream")),
    (502, error("stream ended without a response: invalid upstream")),
    (400, error("tool_use ids were found without tool_result blocks immediately after: toolu_1")),
    (400, error("An assistant message with 'tool_calls' must be followed by tool messages "
     "responding to each 'tool_call_id'.")),
    (400, error("Missing required parameter: 'messages[0].content'", param="messages[0].content")),
    (400, error("tool call validation failed: parameters for tool read_file did not match schema: "
     "errors: [`/start_line`: expected integer, but got string]", code="tool_use_failed")),
    (400, error("tool call validation failed: attempted to call tool 'read_file' which was not in "
     "request.tools")),
    (400, error("No tool output found for function call call_abc.")),
    (400, error("The tool 'read_file' was called, but its result is not in the next message")),
    (400, error("Unexpected tool call id call_abc in tool results")),
    (400, error("Not the same number of function calls and responses")),
    (400, error("function call arguments must be valid JSON")),
    (400, error("messages.1.content.0.tool_use.input: Input should be a valid dictionary")),
    (400, error("messages.5.content.0.tool_use.id: String should match pattern '^[a-z]+$'")),
    (400, error("Invalid request: messages[2].tool_call_id must have a corresponding call")),
]
# fmt: on


@pytest.mark.parametrize(("status", "body", "kind", "what"), REFUSED)
def test_what_a_server_refuses_is_read_in_its_own_words(
    status: int, body: Any, kind: str, what: str | int
) -> None:
    failed = from_status("X", status, body)
    assert failed.code in ("bad_request", "unavailable"), "nothing else is corrected"
    assert failed.said is not None
    found = refusal(failed.said, SENT)
    assert found is not None
    assert found.kind == kind
    assert what in ("", found.field, found.most)


@pytest.mark.parametrize(("status", "body"), ABOUT_OTHER_THINGS)
def test_an_error_about_something_else_takes_no_ability_away(status: int, body: Any) -> None:
    failed = from_status("X", status, body)
    assert failed.said is not None
    assert refusal(failed.said, SENT) is None


def test_the_field_that_is_wanted_instead_is_read() -> None:
    text = "Unknown parameter: 'max_tokens'. Did you mean 'max_completion_tokens'?"
    said = from_status("X", 400, error(text, param=None, code="unknown_parameter")).said
    assert said is not None
    expected = ServerRefusal("field", field="max_tokens", instead="max_completion_tokens")
    assert refusal(said, SENT) == expected
