"""The embedded model: a real llama.cpp in a process of its own, with real tokens.

Issue 2, Providers: "loaded lazily in a process or thread of its own".
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from tierline.context.blocks import Text
from tierline.lsp.parent import alive
from tierline.providers.anthropic import AnthropicProvider
from tierline.providers.base import ProviderError, Stop, TextChunk, Usage
from tierline.providers.gguf import LocalModel, find_model
from tierline.providers.local import LocalModelProcess, LocalProvider
from tierline.providers.transport import Endpoint
from wire.drive import QUICK, Heard, hear, prompt, said

HERE = Path(__file__)


@pytest.fixture(scope="module")
def model() -> LocalModel:
    try:
        return find_model()
    except ProviderError as error:
        pytest.skip(f"{error.message} {error.advice}")


@pytest.fixture
async def provider(model: LocalModel) -> AsyncIterator[LocalProvider]:
    provider = LocalProvider(Endpoint(retry=QUICK), model)
    yield provider
    await provider.close()


async def listen(provider: LocalProvider, tokens: int = 4) -> Heard:
    request = provider.render(prompt(max_output_tokens=tokens))
    events = []
    async with aclosing(provider.stream(request)) as stream:
        async for event in stream:
            events.append(event)  # noqa: PERF401
    return Heard(events)


async def gone(pid: int, seconds: float = 5) -> bool:
    until = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return not alive(pid)


@pytest.mark.model
async def test_real_tokens_stream_and_the_prefix_is_reused(provider: LocalProvider) -> None:
    assert provider.child.pid is None, "nothing is started before the first prompt"
    assert provider.child.address == ""
    first = await listen(provider)
    assert first.of(TextChunk)
    assert first.stop.reason in ("output_limit", "end")
    again = await listen(provider)
    assert again.usage is not None
    assert again.usage.input_tokens is not None
    assert again.usage.cache_read_tokens == again.usage.input_tokens - 1
    counted = await provider.count_tokens(provider.render(prompt()))
    assert counted == again.usage.input_tokens, "the template's tokens are counted too"


@pytest.mark.model
async def test_a_dead_child_is_replaced_and_close_ends_it(provider: LocalProvider) -> None:
    await listen(provider, 1)
    first = provider.child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    assert await gone(first)
    assert (await listen(provider, 1)).of(Stop)
    second = provider.child.pid
    assert second is not None
    assert second != first
    await provider.close()
    assert await gone(second)
    assert provider.child.pid is None


@pytest.mark.model
async def test_a_stopped_reply_leaves_the_model_ready(provider: LocalProvider) -> None:
    request = provider.render(prompt(max_output_tokens=1000))
    async with aclosing(provider.stream(request)) as stream:
        async for event in stream:
            if isinstance(event, TextChunk):
                break
    async with asyncio.timeout(20):
        assert (await listen(provider, 1)).of(Stop)


@pytest.mark.model
async def test_a_prompt_larger_than_the_window_is_overflow(model: LocalModel) -> None:
    small = LocalProvider(Endpoint(retry=QUICK), LocalModel(model.path, model.name, 256))
    request = small.render(prompt(said("user", Text("word " * 400))))
    heard = await hear(small, request)
    assert heard.failed.code == "overflow"


@pytest.mark.model
async def test_it_speaks_anthropics_format_too(provider: LocalProvider) -> None:
    """A real peer for the Anthropic adapter: llama.cpp answers at /v1/messages."""
    address = await provider.child.start()
    claude = AnthropicProvider(Endpoint(address, provider.child.key, retry=QUICK))
    request = claude.render(prompt(max_output_tokens=4))
    count = await claude.count_tokens(request)
    await hear(claude, request)
    for _ in range(10):
        claude = AnthropicProvider(Endpoint(address, provider.child.key, retry=QUICK))
        heard = await hear(claude, request)
        assert heard.text
        if heard.text[0].isascii():
            break  # of a reply that begins with half a character, llama.cpp tells no message_start
    assert heard.stop.reason in ("output_limit", "end")
    assert isinstance(heard.usage, Usage)
    assert heard.usage.input_tokens == count
    assert heard.usage.cache_read_tokens


@pytest.mark.model
async def test_others_on_this_machine_need_the_key(provider: LocalProvider) -> None:
    address = await provider.child.start()
    stranger = AnthropicProvider(Endpoint(address, "guess", retry=QUICK))
    assert (await hear(stranger)).failed.code == "auth"


@pytest.mark.model
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_the_child_dies_with_its_parent(model: LocalModel, how: signal.Signals) -> None:
    """BR-196 for the embedded model: no process is left, however the server ends."""
    script = textwrap.dedent(
        """
        import asyncio
        from tierline.providers.gguf import find_model
        from tierline.providers.local import LocalModelProcess
        async def main():
            child = LocalModelProcess(find_model())
            await child.start()
            print(child.pid, flush=True)
            await asyncio.sleep(60)
        asyncio.run(main())
        """
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    line = await parent.stdout.readline()
    assert line.split(), "nothing else is on the parent's standard output"
    child = int(line)
    assert alive(child)
    parent.send_signal(how)
    await parent.wait()
    assert await gone(child)


@pytest.mark.model
async def test_a_file_that_is_no_model_is_an_error_with_advice(tmp_path: Path) -> None:
    find_or_skip()
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"not a model")
    child = LocalModelProcess(LocalModel(str(bad), "bad"))
    with pytest.raises(ProviderError) as raised:
        await child.start()
    assert raised.value.code == "unavailable"
    assert child.pid is None


def find_or_skip() -> None:
    try:
        find_model()
    except ProviderError as error:
        pytest.skip(error.message)


@pytest.mark.model
async def test_the_users_folder_is_not_on_the_childs_path(
    model: LocalModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project with a module of the runtime's name must not run in our process."""
    (tmp_path / "xllamacpp.py").write_text("raise SystemExit('taken over')\n")
    (tmp_path / "json.py").write_text("raise SystemExit('taken over')\n")
    monkeypatch.chdir(tmp_path)
    child = LocalModelProcess(model)
    try:
        assert (await child.start()).startswith("http://127.0.0.1:")
    finally:
        await child.stop()


async def test_a_missing_system_library_is_named_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Minimal systems have no OpenMP library: the loader's own words would help nobody."""
    text = "libgomp.so.1: cannot open shared object file: No such file or directory"
    (tmp_path / "xllamacpp.py").write_text(f"raise ImportError({text!r})\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = LocalModelProcess(LocalModel("none.gguf", "none"))
    with pytest.raises(ProviderError) as caught:
        await child.start()
    assert "needs the system library libgomp.so.1" in caught.value.message
    assert "apt install libgomp1" in caught.value.advice
    assert child.pid is None
