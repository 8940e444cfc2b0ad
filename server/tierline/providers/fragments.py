"""Request bodies joined from pieces that are kept from one request to the next.

A conversation's requests differ in their last part; most texts in them were written as JSON before.
What this gives is, byte for byte, what ``canonical.dumps`` gives for the same body
(``tests/property/test_fragments.py``), in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tierline.context.blocks import Reasoning, Text, ToolResult, visible
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.providers import render_anthropic, render_openai
from tierline.providers.canonical import dumps

_SHORT = 32
"""Texts up to this many characters are written faster than they are found."""


class Fragments:
    """Texts as JSON strings. Holds those of the last two bodies, by the texts themselves."""

    def __init__(self) -> None:
        self._old: dict[str, bytes] = {}
        self._new: dict[str, bytes] = {}

    def quoted(self, text: str) -> bytes:
        """The text as a JSON string in UTF-8, quotes included."""
        found = self._new.get(text)
        if found is not None:
            return found
        found = self._old.get(text)
        if found is None:
            found = dumps(text)
        if len(text) > _SHORT:
            self._new[text] = found
        return found

    def done(self) -> None:
        """A body is complete: what it did not use is forgotten with the next one."""
        self._old, self._new = self._new, {}


def anthropic(prompt: Prompt, fragments: Fragments) -> bytes:
    """``dumps(render_anthropic.body(prompt))``."""
    front = render_anthropic.front(prompt)
    out = [dumps(front)[:-1]]
    if system := [s for b in prompt.system if (s := _anthropic_block(b, fragments))]:
        out += (b',"system":[', b",".join(system), b"]")
    out.append(b',"messages":[')
    first = True
    for message in prompt.messages:
        blocks = [s for b in message.blocks if (s := _anthropic_block(b, fragments))]
        if blocks:
            out.append(_OPEN[message.role] if first else _NEXT[message.role])
            out += blocks if len(blocks) == 1 else (b",".join(blocks),)
            first = False
    out.append(b"]}]" if not first else b"]")
    out += (b",", dumps(render_anthropic.back(prompt))[1:])
    fragments.done()
    return b"".join(out)


_OPEN = {role: b'{"role":"%s","content":[' % role.encode() for role in ("user", "assistant")}
_NEXT = {role: b"]}," + opening for role, opening in _OPEN.items()}


def _anthropic_block(item: PromptBlock, fragments: Fragments) -> bytes:
    """One block; nothing for one that has no place in the body."""
    block = item.block
    if type(block) is Text:
        if not visible(block):
            return b""
        written = b'{"type":"text","text":' + fragments.quoted(block.text)
        if item.mark:
            written += b',"cache_control":' + dumps(render_anthropic.cache_control(item.mark))
        return written + b"}"
    shape = render_anthropic.block(block)
    if shape is None:
        return b""
    if item.mark and not isinstance(block, Reasoning):
        shape["cache_control"] = render_anthropic.cache_control(item.mark)
    return dumps(shape)


def openai(
    prompt: Prompt, fragments: Fragments, *, official: bool, more: Mapping[str, Any] | None = None
) -> bytes:
    """``dumps({**render_openai.body(prompt, official=official), **more})``. ``more`` names nothing
    that the body has.
    """
    out: list[bytes] = []
    if system := _joined(prompt.system, fragments):
        out.append(b'{"role":"system","content":"' + system + b'"}')
    for message in prompt.messages:
        out += _openai_message(message, fragments)
    front = dumps(render_openai.front(prompt))[:-1] + b',"messages":['
    back = dumps({**render_openai.back(prompt, official=official), **(more or {})})
    fragments.done()
    return b"".join((front, b",".join(out), b"],", back[1:]))


def _openai_message(message: PromptMessage, fragments: Fragments) -> list[bytes]:
    if all(type(item.block) is Text for item in message.blocks):
        text = _joined(message.blocks, fragments)
        return [_SAYS[message.role] + text + b'"}'] if text else []
    if message.role == "user" and all(_is_result(item) for item in message.blocks):
        return [
            b'{"role":"tool","tool_call_id":%s,"content":%s}'
            % (dumps(shape["tool_call_id"]), fragments.quoted(shape["content"]))
            for shape in render_openai.message(message)
        ]
    return [dumps(shape) for shape in render_openai.message(message)]


_SAYS = {role: b'{"role":"%s","content":"' % role.encode() for role in ("user", "assistant")}


def _is_result(item: PromptBlock) -> bool:
    block = item.block
    return isinstance(block, ToolResult) and all(type(part) is Text for part in block.content)


def _joined(items: Sequence[PromptBlock], fragments: Fragments) -> bytes:
    """The texts of some blocks as the inside of one JSON string."""
    texts = [b for item in items if type(b := item.block) is Text and visible(b)]
    return b"\\n\\n".join([fragments.quoted(text.text)[1:-1] for text in texts])
