"""What model servers on this machine say of themselves is in force from the second prompt on."""

from __future__ import annotations

from typing import Any

from lsp.conftest import Start
from lsp.test_refusals import choose
from wire.scripts import o_reply
from wire.servers import wire_server

SERVERS: dict[str, tuple[dict[str, Any], int]] = {
    "Ollama, loaded": (
        {
            "/api/ps": {"models": [{"name": "m:latest", "context_length": 8192}]},
            "/api/show": {"model_info": {"llama.context_length": 131_072}},
        },
        8192,
    ),
    "Ollama, by the model's file": (
        {"/api/show": {"parameters": "stop x\nnum_ctx 16384", "model_info": {"x": 1}}},
        16_384,
    ),
    "Ollama, by default": (
        {
            "/api/ps": {"models": []},
            "/api/show": {
                "model_info": {"llama.context_length": 131_072},
                "capabilities": ["completion"],
            },
        },
        4096,
    ),
    "LM Studio": (
        {
            "/api/v0/models": {
                "data": [{"id": "m", "loaded_context_length": 6000, "max_context_length": 131_072}]
            }
        },
        6000,
    ),
    "llama.cpp": ({"/props": {"default_generation_settings": {"n_ctx": 5120}}}, 5120),
    "vLLM": ({"/v1/models": {"data": [{"id": "m", "max_model_len": 7168}]}}, 7168),
    "nobody": ({"/props": [], "/api/ps": "?", "/v1/models": {"data": 3}}, 32_000),
}


async def window(editor: Any, wanted: int) -> int:
    """The window in the budget, once it is the wanted one or has had time to change."""
    for _ in range(40):
        budget = await editor.ask("budget/get")
        if budget.max_input_tokens == wanted:
            break
    return int(budget.max_input_tokens)


async def test_the_window_in_force_is_what_the_server_says(start: Start) -> None:
    for how, (pages, wanted) in SERVERS.items():
        with wire_server("openai", [o_reply("Yes.")]) as model:
            model.pages = pages
            editor = await start(model)
            await choose(editor, model, "m")
            assert (await editor.ask("budget/get")).max_input_tokens == 32_000
            await editor.chat("Is it?")
            assert await window(editor, wanted) == wanted, how
            await editor.chat("Is it so?")
            if how == "Ollama, by default":
                assert "tools" not in model.bodies[-1]
            assert all("authorization" not in request.headers for request in model.others)
            await editor.stop()
