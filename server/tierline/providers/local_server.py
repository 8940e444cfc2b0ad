"""The embedded model's own process: llama.cpp's HTTP server on a random loopback port.

Run as a script, with nothing of Tierline imported. The first line of standard input is a JSON
object (``model``, ``alias``, ``key``, ``context``, ``threads``, ``parent``); the first line of
standard output is ``{"address": ...}`` or ``{"error": ...}``. The process lives as long as its
standard input is open, so it ends with its parent, however that ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Mapping
from typing import Any

_PR_SET_PDEATHSIG = 1
_SIGKILL = 9


def main() -> None:
    """Serve until standard input ends."""
    answers = _private_stdout()
    line = sys.stdin.buffer.readline()
    if not line:
        return
    config = json.loads(line)
    _die_with(config["parent"])
    threading.Thread(target=_leave_with_stdin, daemon=True).start()
    try:
        server = _serve(config)
        answer = {"address": server.listening_address}
    except BaseException as error:
        server, answer = None, {"error": f"{type(error).__name__}: {error}"}
    os.write(answers, json.dumps(answer).encode() + b"\n")
    if server is None:
        os._exit(1)
    threading.Event().wait()


def _serve(config: Mapping[str, Any]) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = config["model"]
    params.model_alias = [config["alias"]]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [config["key"]]
    params.n_ctx = config["context"]
    params.n_parallel = 1
    params.ui = False
    params.verbosity = 0
    params.cache_prompt = True
    params.cache_ram_mib = 512  # earlier prompts' state, so that another chat does not evict ours
    threads = config["threads"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    return xllamacpp.Server(params)


def _private_stdout() -> int:
    """Keep standard output for the one answer; whatever the runtime prints goes to stderr."""
    private = os.dup(1)
    os.set_inheritable(private, False)
    os.dup2(2, 1)
    return private


def _leave_with_stdin() -> None:
    try:
        while sys.stdin.buffer.read(4096):
            pass
    finally:
        os._exit(0)


def _die_with(parent: int) -> None:
    """Let the kernel end this process with its parent (Linux), even during a long computation."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    if sys.platform != "win32":
        if os.getppid() != parent:  # the parent has already ended
            os._exit(0)
        os.nice(5)  # typing comes first


if __name__ == "__main__":
    main()
