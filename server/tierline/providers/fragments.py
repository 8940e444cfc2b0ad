"""Request bodies joined from pieces that are kept from one request to the next.

A conversation's requests differ in their last part; most texts in them were written as JSON before.
What this gives is, byte for byte, what ``canonical.dumps`` gives for the same body
(``tests/property/test_fragments.py``), in a fraction of the time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tierline.context.blocks import Reasoning, Text, ToolResult, visible
from tierline.context.prompt import Prompt, PromptBlock, PromptMessage
from tierline.providers import render_anthropic, render_openai
from tierline.providers.canonical import dumps

_SHORT = 32
"""Texts up to this many characters are written faster than they are found."""


class Fragments:
    """Texts and whole messages as JSON. Holds what the last two bodies used: texts by themselves,
    messages by the object that they are.
    """

    def __init__(self) -> None:
        self._old: dict[str, bytes] = {}
        self._new: dict[str, bytes] = {}
        self._said: dict[int, _Said] = {}
        self._says: dict[int, _Said] = {}

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

    def message(self, message: PromptMessage, write: Callable[[PromptMessage], bytes]) -> bytes:
        """A plain message as ``write`` writes it. One set of fragments serves one way to write."""
        number = id(message)
        found = self._says.get(number)
        if found is not None and found[0] is message:
            return found[1]
        found = self._said.get(number)
        if found is None or found[0] is not message:
            found = (message, write(message))
        self._says[number] = found
        return found[1]

    def done(self) -> None:
        """A body is complete: what it did not use is forgotten with the next one."""
        self._old, self._new = self._new, {}
        self._said, self._says = self._says, {}


_Said: TypeAlias = tuple[PromptMessage, bytes]


def anthropic(prompt: Prompt, fragments: Fragments) -> bytes:
    """``dumps(render_anthropic.body(prompt))``."""
    front = render_anthropic.front(prompt)
    out = [dumps(front)[:-1]]
    if system := [s for b in prompt.system if (s := _anthropic_block(b, fragments))]:
        out += (b',"system":[', b",".join(system), b"]")
    out.append(b',"messages":[')

    def write(message: PromptMessage) -> bytes:
        blocks = [s for b in message.blocks if (s := _anthropic_block(b, fragments))]
        if not blocks:
            return b""
        return b'{"role":"%s","content":[%s]}' % (message.role.encode(), b",".join(blocks))

    messages = [fragments.message(m, write) if m.plain else write(m) for m in prompt.messages]
    out.append(b",".join([m for m in messages if m]))
    out += (b"],", dumps(render_anthropic.back(prompt))[1:])
    fragments.done()
    return b"".join(out)


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

    def write(message: PromptMessage) -> bytes:
        return b",".join(_openai_message(message, fragments))

    messages = (fragments.message(m, write) if m.plain else write(m) for m in prompt.messages)
    out += [message for message in messages if message]
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
