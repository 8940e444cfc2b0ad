"""The embedded model: llama.cpp in a process of its own, spoken to like any OpenAI server."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import secrets
import sys
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import evolve

from tierline.context.prompt import Prompt
from tierline.processes import end
from tierline.providers import render_openai
from tierline.providers.base import ProviderError, RenderedRequest
from tierline.providers.choice import ProviderChoice
from tierline.providers.editor_port import EditorPort
from tierline.providers.gguf import LocalModel
from tierline.providers.openai import OpenAIProvider
from tierline.providers.transport import Endpoint

log = logging.getLogger(__name__)

_LOAD_SECONDS = 180.0
_LEAVE_SECONDS = 3.0
_MAX_THREADS = 8
_SYSTEM_PACKAGES = {
    "libgomp.so.1": "Debian, Ubuntu: sudo apt install libgomp1; Fedora, Alpine: libgomp"
}

SAMPLING = {"temperature": 0.3, "repeat_penalty": 1.1, "dry_multiplier": 0.8}
"""llama.cpp's own fields (its server's documentation, "Completion"). Small models fall into loops;
DRY sampling (``dry_multiplier``) penalises sequences that were generated before.
"""


def body(prompt: Prompt) -> dict[str, Any]:
    """Chat Completions with llama.cpp's sampling fields."""
    return {**render_openai.body(prompt, official=False), **SAMPLING}


BODIES = (body,)


def make(choice: ProviderChoice, _editor: EditorPort | None) -> LocalProvider:
    """See ``Adapter.make``."""
    assert choice.embedded is not None
    return LocalProvider(choice.endpoint, choice.embedded)


class LocalModelProcess:
    """The process that holds the model: started on first use, and again if it died."""

    def __init__(self, model: LocalModel, load_seconds: float = _LOAD_SECONDS) -> None:
        self._model = model
        self._load_seconds = load_seconds
        self._process: asyncio.subprocess.Process | None = None
        self._noise: asyncio.Task[None] | None = None
        self._said: deque[str] = deque(maxlen=20)
        self.key = secrets.token_urlsafe(24)
        self.address = ""

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        alive = self._process is not None and self._process.returncode is None
        return self._process.pid if alive and self._process else None

    async def start(self) -> str:
        """Address of the running server, started if need be. Not to be called twice at once.

        Raises:
            ProviderError: ``unavailable``, with what the runtime said.
        """
        if self.pid is not None:
            return self.address
        await self.stop()
        # -P: the working directory is the user's project, none of its modules may be imported.
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            str(Path(__file__).with_name("local_server.py")),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self._noise = asyncio.ensure_future(self._listen(self._process))
        try:
            async with asyncio.timeout(self._load_seconds):
                answer = await self._ask(self._process)
        except TimeoutError:
            answer = {"error": f"it was not ready after {self._load_seconds:g} s"}
        except BaseException:
            await self.stop()
            raise
        if "address" not in answer:
            await self.stop()
            raise _not_started(str(answer.get("error") or "no answer"))
        self.address = str(answer["address"])
        log.info("Embedded model %s at %s", self._model.name, self.address)
        return self.address

    async def stop(self) -> None:
        """End the process; kill it if it does not exit by itself."""
        process, self._process = self._process, None
        noise, self._noise = self._noise, None
        await end(process, _LEAVE_SECONDS)
        if noise is not None:
            await asyncio.gather(noise, return_exceptions=True)

    async def _ask(self, process: asyncio.subprocess.Process) -> Mapping[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        config = {
            "model": self._model.path,
            "alias": self._model.name,
            "key": self.key,
            "context": self._model.context,
            "threads": max(1, min(_cores(), _MAX_THREADS)),
            "parent": os.getpid(),
        }
        try:
            process.stdin.write(json.dumps(config).encode() + b"\n")
            await process.stdin.drain()
            line = await process.stdout.readline()
            answer = json.loads(line) if line else {}
        except (ConnectionError, ValueError) as error:
            answer = {"error": str(error)}
        if isinstance(answer, dict) and answer:
            return answer
        code = await process.wait()
        said = self._said[-1] if self._said else f"exit code {code}"
        return {"error": said}

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        """Write the runtime's output to the debug log, never to our own streams."""
        assert process.stderr is not None
        while chunk := await process.stderr.read(65536):
            for line in chunk.decode("utf-8", "replace").splitlines():
                if line.strip():
                    self._said.append(line.strip())
                    log.debug("llama.cpp: %s", line)


def _not_started(error: str) -> ProviderError:
    """The error, with advice if the OpenMP library is missing, which no Python package has."""
    missing = re.search(r"(lib[\w+.-]+?\.so[.\d]*): cannot open shared object file", error)
    if missing is None:
        return ProviderError(
            "unavailable",
            f"The embedded model did not start ({error}).",
            "Check the model file, or choose another provider; the log has the details.",
        )
    name = missing.group(1)
    package = _SYSTEM_PACKAGES.get(name)
    how = f" ({package})" if package else ""
    return ProviderError(
        "unavailable",
        f"The embedded model needs the system library {name}, which is not installed.",
        f"Install it{how} and try again, or choose another provider.",
    )


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LocalProvider(OpenAIProvider):
    """The embedded model. llama.cpp keeps earlier prompts and says how much it reused."""

    name = "local"
    service = "The embedded model"

    def __init__(self, endpoint: Endpoint, model: LocalModel) -> None:
        super().__init__(endpoint, service=self.service)
        self.child = LocalModelProcess(model)

    @property
    def instance(self) -> str:
        """Identifies the running process: a new one begins with an empty cache."""
        return f"{self.child.pid}@{self.child.address}"

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        return body(prompt)

    async def count_tokens(self, request: RenderedRequest) -> int | None:
        """The tokens of the whole prompt, as the model counts them, with its chat template."""
        path = "/chat/completions/input_tokens"
        return await self._count(path, request, ("model", "tools", "messages"))

    async def close(self) -> None:
        """Close connections and end the child."""
        await super().close()
        async with self._loading:
            await self.child.stop()

    async def _connected(self) -> Any:
        async with self._loading:
            before = self.child.address if self.child.pid is not None else ""
            address = await self.child.start()
            if self._client is None or address != before:
                stale, self._client = self._client, None
                if stale is not None:
                    await stale.close()
                local = evolve(self._endpoint, base_url=f"{address}/v1", key=self.child.key)
                self._client = await asyncio.to_thread(self._connect, local)
        return self._client
