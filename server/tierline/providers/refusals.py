"""What a server refuses, read from its error: a field, a value above a limit, or a whole feature.

Every service has its own words. A refusal counts only if it names something that was sent, so that
the request can be sent again without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from attrs import frozen

RefusalKind: TypeAlias = Literal[
    "field", "limit", "tools", "tool", "many", "ids", "pictures", "marks", "system", "roles",
    "stream",
]  # fmt: skip
BAD_CALL = (
    r"tool.?call validation failed|failed to call a function"
    r"|failed to parse (?:the )?(?:tool|function).?calls?|tool_use_failed|but model called a tool"
    r"|malformed.?(?:function|tool).?call"
)
"""What services say of a call that the model got wrong; the next reply may be right."""
LIMITS = ("max_tokens", "max_completion_tokens")


@frozen
class ErrorReply:
    """An error as a server reported it."""

    status: int
    code: str = ""
    text: str = ""
    param: str = ""
    """The field that the error itself names as its subject."""


@frozen
class ServerRefusal:
    """What a server does not accept."""

    kind: RefusalKind
    field: str = ""
    """For ``field``: the field, prefixed with ``tools/`` or ``messages/`` if it is inside those.
    For ``tool``: the name of the only tool that is refused.
    """
    instead: str = ""
    """The field that the server wants instead, if it names one."""
    most: int = 0
    """For ``limit``: the highest value that is accepted; for ``many``: the number of tools; for
    ``ids``: the length of a call's id.
    """


_STATUSES = frozenset({400, 404, 405, 406, 409, 415, 422, 500, 501, 502})
_NEVER = frozenset({"model", "messages", "system", "input"})
_STRUCTURE = frozenset(
    {
        "role", "content", "type", "text", "function", "name", "arguments", "id", "url", "source",
        "tool_calls", "tool_call_id", "tool_use_id", "image_url", "parameters", "properties",
        "input_schema", "description", "input", "data", "media_type", "required", "items",
    }
)  # fmt: skip
_NO = re.compile(
    r"""\bnot\b|n't\b|\bno\b|\bunsupported|\bunrecognized|\bunrecognised|\bunknown|\bunexpected
    |\binvalid|\bextra\b|\badditional\ propert|\bforbidden|\bdisallowed|\bonly\b|\bremove\b
    |\bcannot\b|\bunable\b|\bdeprecated|\bdisabled|\brequires?\b|\bmust\b|\bwithout\b|\bundefined
    |\bshould\b|\bnon-streaming\b""",
    re.IGNORECASE | re.VERBOSE,
)
_INSTEAD = re.compile(
    r"(?:\buse|\btry|did you mean|replace[d]? (?:it )?(?:with|by)|instead)\W+(?:the )?"
    r"(?:parameter |field )?\W*([a-z_]+)",
    re.IGNORECASE,
)
_TOOLS = re.compile(
    r"(?:tools?|functions?)[\s_-]*(?:use|calls?|calling|choice|param\w*)?\b", re.IGNORECASE
)
_ABOUT_ONE_CALL = re.compile(
    r"must (?:follow|be followed|be a response|have a corresponding)|preced|immediately after"
    r"|tool_use`? ids|not have response|\btool_?use\.(?:input|name|id)\b|\btool_calls[\[.]\d"
    r"|(?:tool|function) (?:output|results?|responses?)\b"
    r"|(?:calls and|number of) (?:responses|results)"
    r"|unexpected (?:tool|function).?call|(?:tool|function).?call arguments|in the next message"
    r"|was called|number of function"
    rf"|{BAD_CALL}",
    re.IGNORECASE,
)
"""Errors about one call, or about a result without its call: the model accepts tools."""
_TOOL_PLACE = re.compile(
    r"function_?declarations[\[.](\d+)|\btools[\[.](\d+)(?!\]?\.?function_?declarations)",
    re.IGNORECASE,
)
_TOOL_NAME = re.compile(r"(?:function|tool)s?\s+(?:named?\s+)?['\"`]([\w.-]+)['\"`]", re.IGNORECASE)
_MANY = re.compile(
    r"too (?:long|many)|more than|at most|maximum|exceed|limit|up to|no more", re.IGNORECASE
)
_CALL_ID = re.compile(r"call.?id\b.{0,80}\blength of (\d{1,2})\b", re.IGNORECASE)
_PICTURES = re.compile(
    r"image[\s_-]?(?:input|url)|\bimages?\b|\bvision\b|multi-?modal|mmproj|\bpictures?\b", re.I
)
_ABOUT_ONE_PICTURE = re.compile(
    r"exceed|too (?:large|many|big)|dimension|could not (?:process|read|decode)|base64|corrupt"
    r"|media.?type|mime|resolution|(?:invalid|unsupported) image (?:type|format)",
    re.IGNORECASE,
)
_NO_PICTURES = re.compile(r"at most 0 images?|unknown variant `image_url`", re.IGNORECASE)
_PLAIN_TEXT = re.compile(
    r"content\W.{0,40}must be a (?:plain )?string|content.{0,60}(?:valid string|expected (?:a )?"
    r"string)|content parts?.{0,30}(?:not supported|unsupported)|invalid type: sequence, expected"
    r" a string",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"(?:system|developer)\W{0,3}\s*(?:role|message|prompt|instruction)s?|roles?\W{0,3}\s*[:=]?\s*"
    r"\W?(?:system|developer)\b|\.role'? does not support|role.{0,40}(?:input should be|must be "
    r"one of|expected).{0,40}(?:user|assistant)|'(?:system|developer)'\W+"
    r"supported values",
    re.IGNORECASE,
)
_ONLY_ROLES = re.compile(r"only user.{0,30} roles", re.IGNORECASE)
_ALTERNATE = re.compile(r"must alternate|alternating", re.IGNORECASE)
_ROLES = re.compile(
    r"consecutive (?:messages|roles|user|assistant)|expected .{0,30}role|start with a user"
    r"|must be (?:a |from )?(?:the )?user role|(?:first|last) message must (?:use|have|be)\b"
    r".{0,20}\buser\b",
    re.IGNORECASE,
)
_STREAM = re.compile(
    r"\bstream(?:ing|ed)?\b(?!_)(?! id)\W{0,3}(?:mode|responses?|requests?|outputs?)?\W{0,3}"
    r"(?:is|are|must|does|has)?\W{0,3}(?:not|n't|be false|un|disabled)"
    r"|(?:not|n't|cannot|unable|without|no)\b[^.;:]{0,40}\bstream(?:ing|ed)?\b(?!_)(?! id)"
    r"|verified to stream|\bnon-streaming",
    re.IGNORECASE,
)
_REPLY = re.compile(
    r"max_(?:completion_|output_|new_)?tokens|max(?:imum)? ?(?:number of )?(?:output |completion |"
    r"new |generated |allowed )*tokens|output tokens|completion tokens|maxOutputTokens|max_length",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"at most|less than|lower than|smaller than|too (?:large|high|big|many)|exceed|greater than"
    r"|maximum|range|between|up to|no more|above|larger|\[1,|> \d|<= ?\d|\.\.=?\d|limit",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?![\d,])|(?<![\w.-])\d+(?![\w.]*[a-z])")
_BELOW = re.compile(
    r"(?:(?<!or equal to )(?:less|lower|smaller) than|\bbelow)\s+(?!or equal)\D{0,3}$", re.I
)
_MIN_REPLY_TOKENS = 16
"""Tokens; no service limits replies to less, so smaller numbers are the lower end of a range."""


_MIN_TOOLS = 8
"""Tools; smaller numbers in an error about them are about something else."""


def refusal(said: ErrorReply, sent: Mapping[str, Any]) -> ServerRefusal | None:  # noqa: PLR0911 (one per kind)
    """The part of the body ``sent`` that was refused; None if the error is about something else."""
    if said.status not in _STATUSES:
        return None
    if (found := _of_calls(said, sent)) is not None:
        return found
    text = f"{said.text} {said.code}"
    if (most := _limit(said, text, sent)) is not None:
        return ServerRefusal("limit", most=most)
    refused = _NO.search(text)
    if refused and (named := _field(said, sent)):
        return _of_field(named, text, sent)
    if name := _one_tool(said, sent):
        return ServerRefusal("tool", field=name)
    if not refused:
        return None
    if _ALTERNATE.search(said.text):
        return ServerRefusal("roles")
    if _has_system(sent) and _ONLY_ROLES.search(said.text):
        return ServerRefusal("system")
    one_call = _ABOUT_ONE_CALL.search(said.text)
    if "tools" in sent and _TOOLS.search(said.text) and not one_call:
        return ServerRefusal("tools")
    return _of_contents(said.text, sent) or _of_form(said.text, sent)


def _of_form(text: str, sent: Mapping[str, Any]) -> ServerRefusal | None:
    """The refusal of instructions, of roles in a row, or of a stream."""
    if _has_system(sent) and _SYSTEM.search(text):
        developer = re.search(r"(?:use|try|instead)\W+(?:the )?\W*developer", text, re.I)
        return ServerRefusal("system", instead="developer" if developer else "")
    if _ROLES.search(text):
        return ServerRefusal("roles")
    if sent.get("stream") is True and _STREAM.search(text):
        return ServerRefusal("stream")
    return None


def _of_field(named: str, text: str, sent: Mapping[str, Any]) -> ServerRefusal | None:
    if named in ("tools", "stream"):
        return ServerRefusal("tools" if named == "tools" else "stream")
    if named == "messages/cache_control":
        return ServerRefusal("marks")
    found = _INSTEAD.search(text)
    instead = found[1] if found and found[1] not in sent else ""
    return ServerRefusal("field", field=named, instead=instead)


def _of_contents(text: str, sent: Mapping[str, Any]) -> ServerRefusal | None:
    """The refusal of pictures, or of parts where only plain text is accepted."""
    keys = _within(sent.get("messages"))
    pictures = bool({"image_url", "media_type"} & keys)
    if pictures and (
        _NO_PICTURES.search(text)
        or (_PICTURES.search(text) and not _ABOUT_ONE_PICTURE.search(text))
        or _PLAIN_TEXT.search(text)
    ):
        return ServerRefusal("pictures")
    if "cache_control" in keys and "model" in sent and _PLAIN_TEXT.search(text):
        return ServerRefusal("marks")
    return None


def _one_tool(said: ErrorReply, sent: Mapping[str, Any]) -> str:
    """The name of the tool whose definition is refused; empty if the error names none."""
    tools = sent.get("tools")
    if not isinstance(tools, list) or _ABOUT_ONE_CALL.search(said.text):
        return ""
    names = [str(tool.get("name") or tool.get("function", {}).get("name", "")) for tool in tools]
    text = f"{said.param} {said.text}"
    if place := _TOOL_PLACE.search(text):
        number = int(place[1] or place[2])
        return names[number] if number < len(names) else ""
    named = (match[1] for match in _TOOL_NAME.finditer(text))
    return next((name for name in named if name in names), "")


def _has_system(sent: Mapping[str, Any]) -> bool:
    if sent.get("system"):
        return True
    messages = sent.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    return isinstance(first, Mapping) and first.get("role") in ("system", "developer")


# --- fields --------------------------------------------------------------------------------------


def _field(said: ErrorReply, sent: Mapping[str, Any]) -> str:
    """The field of the body that an error names, in the form of ``ServerRefusal.field``."""
    droppable = [name for name in sent if name not in _NEVER]
    deep = {
        place: _within(sent.get(place)) - _STRUCTURE for place in ("messages", "tools", "system")
    }
    for path in (said.param, *_paths(said.text)):
        segments = [part for part in re.split(r"[.\[\]/]+", path) if part and not part.isdigit()]
        segments = segments[1:] if segments[:1] == ["body"] else segments
        if not segments:
            continue
        top = segments[0]
        if top in deep and len(segments) > 1:
            last = next((s for s in reversed(segments) if s in deep[top]), "")
            if last:
                return f"{'messages' if top == 'system' else top}/{last}"
            continue
        if top in droppable:
            return top
        for place, names in deep.items():
            if top in names:
                return f"{'messages' if place == 'system' else place}/{top}"
        for name in droppable:  # ``include_usage`` is in ``stream_options``
            if "_" in top and isinstance(sent[name], Mapping) and top in sent[name]:
                return name
    # Names that are ordinary words count only if they are quoted or are the error's subject.
    bare = {name: name for name in droppable if "_" in name}
    bare |= {name: f"tools/{name}" for name in sorted(deep["tools"]) if name != name.lower()}
    return next((at for name, at in bare.items() if re.search(rf"\b{name}\b", said.text)), "")


def _paths(text: str) -> Iterator[str]:
    """Names that an error quotes, or that are where only a name can be."""
    for match in re.finditer(r"""['"`“‘]([A-Za-z_][\w.\[\]]*)['"`”’]""", text):
        yield match[1]
    for match in re.finditer(
        r"(?:parameters?|arguments?|fields?|property|properties|inputs?|keys?)\b[^:;.]{0,30}:\s*"
        r"\[?\W?([A-Za-z_][\w.\[\]]*)",
        text,
        re.IGNORECASE,
    ):
        yield match[1]
    for match in re.finditer(
        r"(?:^|[\s;])([a-z_]+(?:[.\[]\w+\]?)*)(?::|\s(?:is|are)\s(?:deprecated|unsupported|unknown|not\s"
        r"(?:an?\s)?(?:supported|allowed|permitted|accepted|available))|\s(?:may|can)\sonly\sbe)\s",
        f"{text} ",
    ):
        yield match[1]


def _within(value: object) -> set[str]:
    """Names of the fields within messages or tools, without the properties of schemas."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, Mapping):
            found |= set(one)
            for name, inner in one.items():
                named = name == "properties" and isinstance(inner, Mapping)
                waiting += list(inner.values()) if named else [inner]
    return found


# --- limits --------------------------------------------------------------------------------------


def _of_calls(said: ErrorReply, sent: Mapping[str, Any]) -> ServerRefusal | None:
    """The refusal of too many tools, or of a call's id."""
    if wanted := _CALL_ID.search(said.text):
        return ServerRefusal("ids", most=int(wanted[1]))
    tools = sent.get("tools")
    about = _TOOLS.search(said.text) and _MANY.search(said.text) and "token" not in said.text
    if not isinstance(tools, list) or not about:
        return None
    numbers = (int(match[0].replace(",", "")) for match in _NUMBER.finditer(said.text))
    most = max((number for number in numbers if _MIN_TOOLS <= number < len(tools)), default=0)
    return ServerRefusal("many", most=most) if most else None


def _limit(said: ErrorReply, text: str, sent: Mapping[str, Any]) -> int | None:
    """The refusal of a too long reply, with the longest that is accepted."""
    asked = next((sent[name] for name in LIMITS if isinstance(sent.get(name), int)), None)
    if asked is None or not (_REPLY.search(text) or said.param in LIMITS):
        return None
    if not _TOO_MUCH.search(text) or re.search(r"unsupported (?:parameter|value)", text, re.I):
        return None
    numbers: list[int] = []
    for match in _NUMBER.finditer(said.text):
        number = int(match[0].replace(",", ""))
        below = _BELOW.search(said.text[: match.start()]) or re.match(
            r"\s*(?:\(exclusive\)|\))", said.text[match.end() :]
        )
        closes = re.match(r"\s*\)", said.text[match.end() :]) is not None
        opened = closes and "[" not in said.text[max(0, match.start() - 12) : match.start()]
        numbers.append(number - 1 if below and not opened else number)
    fitting = [number for number in numbers if _MIN_REPLY_TOKENS <= number < asked]
    if fitting:
        return max(fitting)
    return asked // 2 if not numbers or max(numbers) == asked else None
