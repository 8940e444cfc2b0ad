"""Which model answers.

Issue 2, Providers: explicit setting, else a key, else a server on this machine after consent, else
the embedded model; without any, the three ways to get one.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from tierline.providers import choose as module
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import ProviderError
from tierline.providers.choose import LocalServer, ProviderSettings, choose, make, probe_loopback
from tierline.providers.gguf import LocalModel, described, find_model, model_name
from tierline.providers.local import LocalProvider
from tierline.providers.openai import OpenAIProvider

NONE: dict[str, str] = {}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-a"}
OPENAI = {"OPENAI_API_KEY": "sk-o"}
OLLAMA = LocalServer("Ollama", "http://127.0.0.1:11434/v1", ("llama3", "qwen"))
EMPTY = LocalServer("LM Studio", "http://127.0.0.1:1234/v1", ())
AUTO = ProviderSettings()
AGREED = ProviderSettings(consent_loopback=True)
MODEL = LocalModel("/models/Tiny-1B.Q4_K_M.gguf", "Tiny-1B")


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_model", lambda path="": MODEL)


@pytest.fixture
def nothing_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str = "") -> LocalModel:
        raise ProviderError("unavailable", "It is not installed.", "Install it.")

    monkeypatch.setattr(module, "find_model", missing)


def test_with_nothing_at_all_the_embedded_model_answers() -> None:
    choice = choose(AUTO, NONE, NONE, ())
    assert (choice.kind, choice.model, choice.strategy, choice.found) == (
        "local",
        "Tiny-1B",
        "openai",
        "",
    )


@pytest.mark.parametrize(
    ("env", "secrets", "kind", "key"),
    [
        (ANTHROPIC, NONE, "anthropic", "sk-a"),
        (OPENAI, NONE, "openai", "sk-o"),
        (NONE, {"openai": "sk-s"}, "openai", "sk-s"),
        (NONE, {"anthropic": "sk-s"}, "anthropic", "sk-s"),
        (ANTHROPIC | OPENAI, NONE, "anthropic", "sk-a"),
        (ANTHROPIC, {"anthropic": "sk-s"}, "anthropic", "sk-s"),
        ({"ANTHROPIC_API_KEY": "  "}, NONE, "local", ""),
    ],
)
def test_a_key_comes_before_servers_and_the_embedded_model(
    env: dict[str, str], secrets: dict[str, str], kind: str, key: str
) -> None:
    choice = choose(AGREED, env, secrets, (OLLAMA,)) if key else choose(AUTO, env, secrets, ())
    assert (choice.kind, choice.endpoint.key) == (kind, key)
    assert choice.why.endswith(".")
    assert choice.model


def test_a_models_name_decides_between_two_keys() -> None:
    both = ANTHROPIC | OPENAI
    assert choose(evolve(AUTO, model="gpt-5"), both, NONE, ()).kind == "openai"
    assert choose(evolve(AUTO, model="claude-x"), both, NONE, ()).kind == "anthropic"
    assert choose(evolve(AUTO, model="gpt-5"), ANTHROPIC, NONE, ()).kind == "anthropic"


def test_an_explicit_setting_comes_first() -> None:
    local = choose(ProviderSettings("local"), ANTHROPIC, NONE, (OLLAMA,))
    assert (local.kind, local.found) == ("local", "")
    assert choose(ProviderSettings("openai"), ANTHROPIC | OPENAI, NONE, ()).kind == "openai"


@pytest.mark.parametrize("kind", ["anthropic", "openai"])
def test_an_explicit_setting_without_a_key_says_how_to_give_one(kind: str) -> None:
    with pytest.raises(ProviderError) as raised:
        choose(ProviderSettings(kind), NONE, NONE, (OLLAMA,))
    assert raised.value.code == "unavailable"
    assert f"{kind.upper()}_API_KEY" in raised.value.advice


def test_a_server_on_this_machine_is_used_only_after_consent() -> None:
    assert choose(AUTO, NONE, NONE, (OLLAMA,)).kind == "local"
    choice = choose(AGREED, NONE, NONE, (EMPTY, OLLAMA))
    assert (choice.kind, choice.found, choice.model) == ("openai", "Ollama", "llama3")
    assert choice.base_url == OLLAMA.base_url
    assert choose(evolve(AGREED, model="qwen"), NONE, NONE, (OLLAMA,)).model == "qwen"
    assert choose(evolve(AGREED, model="gpt-5"), NONE, NONE, (OLLAMA,)).model == "llama3"
    assert choose(AGREED, NONE, NONE, (EMPTY,)).kind == "local", "it has no model"


def test_a_chosen_server_on_this_machine_sees_no_key() -> None:
    settings = ProviderSettings("openai", base_url=OLLAMA.base_url, model="qwen")
    choice = choose(settings, OPENAI, NONE, (OLLAMA,))
    assert (choice.found, choice.model, choice.endpoint.key) == ("Ollama", "qwen", "")


def test_a_base_url_of_ones_own_needs_no_key() -> None:
    choice = choose(ProviderSettings("openai", base_url="http://box:8000/v1"), NONE, NONE, ())
    assert (choice.kind, choice.base_url, choice.model) == (
        "openai",
        "http://box:8000/v1",
        "default",
    )
    anthropic = ProviderSettings("anthropic", base_url="http://127.0.0.1:8000")
    assert choose(anthropic, NONE, NONE, ()).base_url == "http://127.0.0.1:8000"
    with pytest.raises(ProviderError):
        choose(evolve(anthropic, base_url="https://proxy.example"), NONE, NONE, ())


def test_a_base_url_alone_is_an_openai_compatible_server_unless_it_says_otherwise() -> None:
    url = "http://box:8000/v1"
    assert choose(ProviderSettings(base_url=url), NONE, NONE, ()).kind == "openai"
    assert choose(ProviderSettings(base_url=url), ANTHROPIC | OPENAI, NONE, ()).kind == "openai"
    assert choose(ProviderSettings(base_url=url), ANTHROPIC, NONE, ()).kind == "anthropic"
    claude = ProviderSettings(base_url=url, model="claude-x")
    assert choose(claude, ANTHROPIC | OPENAI, NONE, ()).kind == "anthropic"


def test_the_sdks_own_variables_for_addresses_are_honoured() -> None:
    env = ANTHROPIC | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    assert choose(AUTO, env, NONE, ()).base_url == "http://127.0.0.1:1"
    set_here = evolve(AUTO, kind="anthropic", base_url="http://127.0.0.1:2")
    assert choose(set_here, env, NONE, ()).base_url == "http://127.0.0.1:2"


@pytest.mark.usefixtures("nothing_embedded")
def test_without_any_the_error_names_the_three_ways() -> None:
    with pytest.raises(ProviderError) as raised:
        choose(AUTO, NONE, NONE, ())
    error = raised.value
    assert error.code == "unavailable"
    for way in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "Ollama", "LM Studio", "GGUF"):
        assert way in error.advice
    assert "pip install 'tierline[local]'" in error.advice
    with pytest.raises(ProviderError, match="no language model") as raised:
        choose(AUTO, NONE, NONE, (OLLAMA,))
    assert "Ollama runs on this machine" in raised.value.advice


def test_no_key_is_in_a_choices_words() -> None:
    choice = choose(AUTO, ANTHROPIC, NONE, ())
    assert "sk-a" not in repr(choice)
    assert "sk-a" not in str(choice.endpoint)


def test_another_key_is_another_choice() -> None:
    one, two = (choose(AUTO, NONE, {"openai": key}, ()) for key in ("sk-1", "sk-2"))
    assert one != two
    assert one == choose(AUTO, NONE, {"openai": "sk-1"}, ())


def test_settings_reach_the_provider() -> None:
    settings = ProviderSettings(stall_seconds=1, first_byte_seconds=2, max_retries=3)
    endpoint = choose(settings, OPENAI, NONE, ()).endpoint
    assert (endpoint.stall_seconds, endpoint.first_byte_seconds) == (1, 2)
    assert endpoint.retry.retries == 3


@pytest.mark.parametrize(
    ("env", "kind", "strategy"),
    [
        (ANTHROPIC, AnthropicProvider, "anthropic"),
        (OPENAI, OpenAIProvider, "openai"),
        (NONE, LocalProvider, "openai"),
    ],
)
def test_make_gives_the_provider_of_the_choice(
    env: dict[str, str], kind: type[Any], strategy: str
) -> None:
    choice = choose(AUTO, env, NONE, ())
    provider = make(choice)
    assert type(provider) is kind
    assert provider.strategy == strategy == choice.strategy
    assert provider.name == choice.kind


# --- servers on this machine ----------------------------------------------------------------------


@contextmanager
def server(status: int, body: bytes) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append((self.path, dict(self.headers)))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    seen: list[Any] = []
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield http.server_address[1]
        assert all(path == "/v1/models" for path, _ in seen)
        assert not any(name.lower() == "authorization" for _, h in seen for name in h)
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


async def test_the_probe_lists_models_that_can_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    rows = [{"id": "llama3"}, {"id": "nomic-embed-text"}, {"x": 1}, 5]
    with server(200, json.dumps({"object": "list", "data": rows}).encode()) as port:
        found = await probe_loopback([("Ollama", port)])
    assert found == [LocalServer("Ollama", f"http://127.0.0.1:{port}/v1", ("llama3",))]


async def test_a_server_without_models_is_found_with_none() -> None:
    with server(200, b'{"object": "list", "data": null}') as port:
        assert (await probe_loopback([("Ollama", port)]))[0].models == ()


@pytest.mark.parametrize(
    ("status", "body"), [(404, b"{}"), (200, b"hello"), (200, b"[]"), (200, b'{"a": 1}')]
)
async def test_something_else_on_the_port_is_not_a_model_server(status: int, body: bytes) -> None:
    with server(status, body) as port:
        assert await probe_loopback([("Ollama", port)]) == []


async def test_nobody_on_the_port() -> None:
    with server(200, b"") as port:
        pass
    assert await probe_loopback([("Ollama", port)]) == []


# --- the model file -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct"),
        ("qwen2.5-coder-7b-instruct-q4_k_m.gguf", "qwen2.5-coder-7b-instruct"),
        ("Big-70B-IQ2_XS-00001-of-00003.gguf", "Big-70B"),
        ("model.F16.GGUF", "model"),
        ("plain.gguf", "plain"),
    ],
)
def test_a_models_name_is_its_files_without_the_quantisation(file: str, name: str) -> None:
    assert model_name(file) == name


def test_a_file_of_ones_own_and_one_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    file = tmp_path / "Mine-1B.Q8_0.gguf"
    file.write_bytes(b"GGUF")
    assert find_model(str(file)).name == "Mine-1B"
    with pytest.raises(ProviderError, match="no model file at"):
        find_model(str(tmp_path / "missing.gguf"))


def test_without_the_runtime_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ProviderError) as raised:
        find_model()
    assert "pip install 'tierline[local]'" in raised.value.advice


def gguf(*entries: bytes, version: int = 3) -> BytesIO:
    return BytesIO(struct.pack("<4sIQQ", b"GGUF", version, 0, len(entries)) + b"".join(entries))


def entry(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def test_a_models_window_is_read_from_its_file() -> None:
    before = [
        entry("general.architecture", 8, _text("llama")),
        entry("general.flag", 7, b"\1"),
        entry("tokens", 9, struct.pack("<IQ", 8, 2) + _text("a") + _text("ß")),
        entry("scores", 9, struct.pack("<IQ", 6, 3) + bytes(12)),
    ]
    length = entry("llama.context_length", 4, struct.pack("<I", 4096))
    assert described(gguf(*before, length, entry("x", 8, _text("y"))))[0] == 4096
    assert described(gguf(*before))[0] is None


@pytest.mark.parametrize(
    "data", [b"", b"GGUF", b"not a model at all, but long enough", b"GGUF" + b"\xff" * 60]
)
def test_a_damaged_file_says_nothing_of_its_window(data: bytes) -> None:
    assert described(BytesIO(data))[0] is None


def test_the_window_of_ones_own_model_reaches_the_choice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr(module, "find_model", find_model)
    file = tmp_path / "Mine-1B.Q8_0.gguf"
    for trained, used in ((2048, 2048), (1_000_000, 32_768)):
        value = struct.pack("<I", trained)
        file.write_bytes(gguf(entry("llama.context_length", 4, value)).getvalue())
        choice = choose(ProviderSettings("local", model_path=str(file)), NONE, NONE, ())
        assert (choice.model, choice.window) == ("Mine-1B", used)
