"""Errors about a request that is too large: recognising them, and reading the sizes.

Sources: Anthropic "Errors", OpenAI "Error codes", the servers of llama.cpp, vLLM, Ollama and LM
Studio, and users' reports about Mistral, xAI, Gemini, Bedrock, Groq, DashScope, Cohere, Kimi, Z.ai.
"""

from __future__ import annotations

import re

from attrs import frozen

_CODES = frozenset(
    {
        "context_length_exceeded", "exceed_context_size_error", "request_too_large",
        "prompt_too_long", "model_context_window_exceeded", "input_too_long",
        "context_window_exceeded", "1261",  # the number is Z.ai's: "Prompt 超长"
    }
)  # fmt: skip
_SIZE = r"(?:input|prompt|request|message|messages|conversation|context)"
_WORDS = re.compile(
    rf"""
    context\s(?:length|window|size|limit) .{{0,60}} (?:exceed|too\s|larger|longer|over
        |is\s(?:only\s)?\d)
    | (?:exceed|larger\sthan|longer\sthan|greater\sthan|beyond|over)\w* \s .{{0,60}} context
    | max(?:imum)?\s(?:context|prompt|input|sequence|message\stokens)
    | context_length_exceeded | exceed_context_size
    | when\s(?:the\s)?context\s(?:the\s)?overflows
    | reached\s(?:the\s)?context | must\sbe\sat\sleast\s1,\sgot\s-\d | expected\smaxLength:\s\d{{5}}
    | max\sinput\slength | `?inputs`?\smust\shave\s(?:less|fewer)
    | `?inputs`?\s(?:tokens\s)?\+\s`?max_new_tokens
    | {_SIZE}\s(?:size|length|tokens?) .{{0,60}} (?:within|between|should\sbe|must\s|at\smost
        | exceed|above\sthe\smax)
    | request\sbody\s .{{0,20}} exceeds | kv\scache\sis\sfull | memory\sslot\sfor\sthe\sbatch
    | range\sof\s{_SIZE}\slength
    | {_SIZE}\s(?:[\w()]+\s){{0,4}}(?:is|are|was)?\s?(?:too\s(?:long|large|big|many)
        | (?:longer|larger|bigger)\sthan)
    | {_SIZE}\s .{{0,40}} exceeds? .{{0,60}} (?:token|length)
    | prompt\scontains\s\d+\stokens
    | too\smany\s(?:input\s|prompt\s)?tokens | too\smany\s(?:total\s)?(?:text\s)?bytes
    | reduce\sthe\slength
    | (?:larger|longer|greater)\sthan\s(?:the\s)?max
    | n_ctx | context\slength\sof\sonly
    | number\sof\stokens .{{0,60}} (?:exceed|greater|larger)
    | token\scount\s .{{0,60}} (?:exceeds|only\ssupports) | token\slimit\s(?:\w+\s)?exceeded
    | length\sof\s\d+\stokens\sexceeds
    | context\s(?:window\s)?(?:is\s)?full | tokens?\s .{{0,20}} >\s(?:the\s)?context
    | supports?\s(?:at\smost|up\sto|only)\s[\d,.]+\s?k?\s(?:input\s|context\s)?tokens
    | max(?:imum)?\s(?:number\sof\s)?tokens\sexceeded | max_(?:total|prompt|input|context)_tokens
    | (?:input|prompt)_tokens\s .{{0,20}} (?:must|exceed|too\s|larger|greater)
    | kontext(?:länge|fenster|größe) | contexte\s(?:maxim|dépass)
    | (?:longueur|fenêtre|taille)\sd[eu]\scontexte
    | context[oe]\s(?:máxim|massim|excedid)
    | (?:longitud|ventana|finestra|lunghezza)\sd[ei]l?\scontext[oe]
    | контекст | コンテキスト | 컨텍스트
    | 超长 | (?:长度|上下文) .{{0,12}} 超 | 超[过出] .{{0,12}} (?:长度|上下文)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NOT = re.compile(
    r"\bimages?\b(?! and text)|maximum allowed number of output tokens|string too long"
    r"|per (?:day|hour|minute|second)\b|rate limit (?:reached|exceeded)",
    re.IGNORECASE,
)
_TEXT_TOO_LONG = re.compile(r"(?:content|input|text)\S*: string too long", re.IGNORECASE)
"""One text has too many characters, which says nothing of tokens."""
_REPLY_TOO_LONG = re.compile(
    r"max_(?:completion_|output_)?tokens\W{0,3} (?:is|are) too (?:large|high)", re.IGNORECASE
)
_PER_MINUTE = re.compile(r"request too large.*?limit\D{0,5}[\d,]+", re.IGNORECASE | re.DOTALL)
_BYTES = re.compile(
    r"(?P<counted>bytes\s*[:=]\s*\d|message size \d)|\b[MK]i?B\b|\bbytes\b|payload|entity too large"
    r"|body (?:is )?too large|maximum (?:allowed )?size",
    re.IGNORECASE,
)
_N = r"(\d{1,4}\s?k\b|\d{1,3}(?:[,.'\u2009\u202f\u00a0\x20]\d{3})+(?!\d)|\d{3,})"
_LIMITS = [
    re.compile(pattern.replace("N", _N), re.IGNORECASE)
    for pattern in (
        r"\d\s\+\s\d+\s>\s*N",
        r"\b(?:n_ctx|max_seq_len|max_model_len)\W{1,4}N",
        r"max(?:imum)?\.?\s(?:\w+\s){0,3}?(?:length|window|size|limit|tokens?)"
        r"(?:\s(?:allowed|supported|for\sthis\smodel))?\s*(?:is|of|:|=|\()?\s*\(?N",
        r"\bmax_(?:total|prompt|input|context)_tokens\W{1,3}N",
        r"context(?:\s(?:length|window|size|limit))?\s*(?:is|of|:|=|\()?\s*(?:only\s|full\s)?\(?N",
        r"N(?:\s|-)*(?:tokens?\s)?max(?:imum)?\b",
        r"\[\s*\d+\s*,\s*N\s*\]",
        r"[\s\d]>=?\s*N",
        r"\bmax(?:imum)?(?:\sis)?\W{1,2}N\b",
        r"\blimit(?:\sfor\sthis\smodel)?(?:\sof|\sis)?\s*[:=]?\s*N",
        r"N\stokens\sor\s(?:fewer|less)",
        r"(?:Kontext\w+|context[eo])(?:\s\w+){0,3}?:?\s+N",
        r"(?:最大|上限|限制|不超过|コンテキスト|контекст)\D{0,16}N",
        r"(?:<=|at\smost|cannot\sexceed|not\sexceed|up\sto|no\smore\sthan|(?:less|fewer)\sthan(?:\sor\sequal"
        r"\sto)?|(?:exceeds?|above)\s(?:the\s)?(?:\w+\s){0,5}?(?:limit|maximum|window|length|size)?"
        r"(?:\sof)?)\s*N",
    )
]
_NUMBER = re.compile(r"(?<![\w.])" + _N + r"(?![\w]*[.]\d)")
_SIZED = re.compile(r"(\d+(?:,\d{3})*(?:\.\d+)?)[\s-]?([KMG]i?B\b|bytes?\b)", re.IGNORECASE)
_UNITS = {"b": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_OTHER_UNITS = ("byte", "mb", "mib", "kb", "kib", "gb", "gib", "char")
_MIN_BODY = 10_000
_MIN_LIMIT = 256
_WITHOUT_A_WORD = 0.75
_MIN_RATIO = 0.6


@frozen
class Overflow:
    """A request was too large. Sizes in tokens; 0 where the service does not say."""

    limit: int = 0
    sent: int = 0
    """Tokens of the request, as the service counted them."""
    size: bool = False
    """True if the body was too large in bytes, whatever its tokens."""
    most_bytes: int = 0
    """The largest body that the service accepts, in bytes; 0 if it does not say."""
    passing: bool = False
    """True for a rate limit of the account, which may change."""


def overflow(status: int, kind: str, code: str, text: str) -> Overflow | None:
    """The overflow that an error reports; None if it is about something else."""
    if status == 429 and not _PER_MINUTE.search(text):
        return None
    if status in (400, 422) and _TEXT_TOO_LONG.search(text):
        return Overflow()
    known = bool({kind, code} & _CODES) or status in (413, 429)
    if not known and (
        status not in (400, 422, 500, 502, 503)
        or _NOT.search(text)
        or (_REPLY_TOO_LONG.search(text) and "context" not in text.lower())
        or not _WORDS.search(text)
    ):
        return None
    found = _BYTES.search(text)
    limit = 0 if found and found["counted"] else _limit(text)
    if limit == 0 and (found or (status == 413 and "token" not in text.lower())):
        return Overflow(size=True, most_bytes=_most_bytes(text))
    numbers = [_number(m[1]) for m in _NUMBER.finditer(text)]
    sent = max((n for n in numbers if n > limit), default=0) if limit else 0
    return Overflow(limit, sent, passing=bool(_PER_MINUTE.search(text)))


def room_after(found: Overflow, counted: int) -> int:
    """The tokens, by our own count, that the next request may have; 0 if the refusal was not about
    tokens. ``counted``: our count of the refused request.
    """
    if found.size:
        return 0
    if not found.limit:
        return int(counted * _WITHOUT_A_WORD)
    ours = counted / found.sent if found.sent else 1.0
    if not _MIN_RATIO <= ours <= 1:  # the figure includes the reply's room or more
        ours = 1.0
    return int(found.limit * ours)


def _most_bytes(text: str) -> int:
    """The smallest size in the text: the other one is the request's own."""
    sizes = [
        int(float(number.replace(",", "")) * _UNITS[unit[:1].lower()])
        for number, unit in _SIZED.findall(text)
    ]
    return min((size for size in sizes if size >= _MIN_BODY), default=0)


def _number(said: str) -> int:
    """“131,072”, “128.000”, “16 384” and “128k” (which is at least 128,000)."""
    digits = re.sub(r"\D", "", said)
    return int(digits) * (1_000 if said[-1] in "kK" else 1)


def _limit(text: str) -> int:
    for pattern in _LIMITS:
        for match in pattern.finditer(text):
            number = _number(match[1])
            unit = text[match.end(1) : match.end(1) + 8].strip().lower()
            if number >= _MIN_LIMIT and not unit.startswith(_OTHER_UNITS):
                return number
    return 0
