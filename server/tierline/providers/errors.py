"""Failures of requests, in the same words for every provider.

Sources: Anthropic "Errors" (overloaded_error, 529), OpenAI "Error codes" (insufficient_quota).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tierline.network import Network
from tierline.providers.base import ProviderError
from tierline.providers.overflows import Overflow, overflow
from tierline.providers.refusals import BAD_CALL, ErrorReply
from tierline.providers.thinking_refusals import about_thinking
from tierline.providers.values import figure, mapping, rows

_KEYS = re.compile(
    r"\b(?:sk|pk|key|token|bearer)[-_ ][A-Za-z0-9_\-.*]{6,}|\bBearer\s+\S+|[?&]key=[^\s&]+", re.I
)
_RETRYABLE = frozenset({408, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_QUOTA = frozenset({"insufficient_quota", "billing_hard_limit_reached", "credit_balance_too_low"})
_SPENT = re.compile(r"credit balance|insufficient[_ ](?:quota|funds|credits)|billing", re.I)
_BAD_CALL = re.compile(BAD_CALL, re.IGNORECASE)
_SHOWN = 300
_UNSENDABLE = {"LocalProtocolError", "UnsupportedProtocol", "InvalidURL"}
_NETWORK = {"APIConnectionError", "TransportError", "StreamError"}
"""Class names of the SDKs and their HTTP client, so that they need not be imported here."""

_OVERFLOW_ADVICE = "Unpin or remove files, or start a new chat."
_LATER = "Wait a little, then retry."


class RequestFailed(ProviderError):  # noqa: N818 (reads as what it is)
    """A ProviderError that knows whether another attempt may help.

    ``retry_after``: wait that the service asks for, in seconds; None if it names none.
    """

    def __init__(
        self,
        code: str,
        message: str,
        advice: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(code, message, advice)
        self.said: ErrorReply | None = None
        """The server's own error."""
        self.overflow: Overflow | None = None
        """Sizes, if the request was too large."""
        self.large = False
        """True if the connection broke while a large body was sent."""
        self.retryable = retryable
        self.retry_after = retry_after


def from_status(
    service: str,
    status: int,
    body: object,
    headers: Mapping[str, str] | None = None,
    *,
    secret: str = "",
) -> RequestFailed:
    """The error of an HTTP answer. ``body``: JSON or text, from which ``secret`` is removed."""
    kind, code, text = describe(body)
    headers = headers or {}
    said, wait = quote(text, secret), retry_after(headers)
    if found := overflow(status, kind, code, text):
        failed = RequestFailed(
            "overflow", f"The request is larger than {service} accepts{said}", _OVERFLOW_ADVICE
        )
        failed.overflow = found
    elif refused := about_thinking(status, text):
        failed = RequestFailed(
            refused,
            f"{service} refused the request because of the model's thinking{said}",
            "Retry, or choose another effort or model.",
        )
    elif _BAD_CALL.search(f"{code} {text}"):
        failed = RequestFailed(
            "bad_request",
            f"The model at {service} made a call that could not be read{said}",
            "Ask again, or choose another model.",
            retryable=True,
        )
    else:
        account = _account(service, status, kind, code, text, said, wait)
        failed = account or _service(service, status, kind, said, headers, wait)
    failed.http_status = status
    failed.said = ErrorReply(status, code, text, subject(body))
    return failed


def _account(
    service: str, status: int, kind: str, code: str, text: str, said: str, wait: float | None
) -> RequestFailed | None:
    """The error if it is about the key, payment or the rate limit, else None."""
    if status in (401, 403) or kind == "authentication_error":
        # Providers repeat parts of the key in this text, so it is not shown.
        what = "did not accept the key" if status != 403 else "does not let this key do that"
        return RequestFailed(
            "auth", f"{service} {what} (HTTP {status}).", "Check the key, or set another one."
        )
    if status == 402 or {kind, code} & _QUOTA or (status in (400, 429) and _SPENT.search(text)):
        return RequestFailed(
            "rate_limited",
            f"The account at {service} has no credit or quota left{said}",
            "Add credit at the provider, or choose another model.",
        )
    if status == 429:
        hopeless = "request too large" in text.lower()
        return RequestFailed(
            "rate_limited",
            f"{service} limits the rate of requests{said}",
            _LATER if wait is None else f"Retry in {duration(wait)}.",
            retryable=not hopeless,
            retry_after=wait,
        )
    return None


def _service(
    service: str, status: int, kind: str, said: str, headers: Mapping[str, str], wait: float | None
) -> RequestFailed:
    """The error if it is about the service, the address or the request."""
    if status >= 500 or status == 408:
        busy = status in (503, 529) or kind == "overloaded_error"
        return RequestFailed(
            "overloaded" if busy else "unavailable",
            f"{service} is {'overloaded' if busy else 'failing'} (HTTP {status}){said}",
            _LATER,
            retryable=status in _RETRYABLE and headers.get("x-should-retry") != "false",
            retry_after=wait,
        )
    if 300 <= status < 400:
        return RequestFailed(
            "bad_request",
            f"{service} points to another address (HTTP {status}), which is not followed.",
            "Check the base URL.",
        )
    if status == 404:
        return RequestFailed(
            "bad_request",
            f"{service} does not know this model or address{said}",
            "Check the model's name and the base URL.",
        )
    return RequestFailed(
        "bad_request",
        f"{service} refused the request (HTTP {status}){said}",
        "Change what the answer names, or choose another model; your prompt is kept.",
    )


_EVENT_STATUS = {
    "overloaded_error": 529,
    "api_error": 500,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "authentication_error": 401,
    "permission_error": 403,
    "timeout_error": 504,
    "server_error": 500,
    "internal_server_error": 500,
    "internalservererror": 500,
    "service_unavailable": 503,
    "unavailable": 503,
    "resource_exhausted": 429,
}


def from_event(service: str, body: object, *, secret: str = "") -> RequestFailed:
    """The error that a stream carries as an event, after HTTP 200."""
    kind, code, _ = describe(body)
    status = _EVENT_STATUS.get(kind.lower()) or _EVENT_STATUS.get(code.lower())
    if status is None:
        status = int(code) if code.isdigit() and 400 <= int(code) < 600 else 400
    return from_status(service, status, body, secret=secret)


def from_exception(
    service: str,
    error: Exception,
    *,
    secret: str = "",
    url: str = "",
    network: Network | None = None,
) -> RequestFailed:
    """The error of an SDK's or HTTP client's exception at ``url``, over ``network``."""
    status = getattr(error, "status_code", None)
    response = getattr(error, "response", None)
    if isinstance(status, int) and response is not None:
        body = getattr(error, "body", None)
        headers = {k.lower(): v for k, v in response.headers.items()}
        return from_status(service, status, body, headers, secret=secret)
    from tierline.providers import connection_errors

    cause = error.__cause__ or error
    kinds = {c.__name__ for c in (*type(error).__mro__, *type(cause).__mro__)}
    if "client has been closed" in str(cause):
        # Choosing another provider closes the previous one, even during a summary or the like.
        return RequestFailed(
            "closed", f"Another model was chosen while {service} was asked.", "Ask again."
        )
    if "DecodingError" in kinds:
        return unreadable(service)
    if kinds & _UNSENDABLE or not (isinstance(error, OSError) or kinds & _NETWORK):
        # Raised before anything is sent, by a key or an address that HTTP cannot carry.
        return RequestFailed(
            "protocol",
            f"The request to {service} could not be made ({type(error).__name__}).",
            "Check the key and the base URL.",
        )
    found = connection_errors.failure_of(service, url, error, network)
    text = quote(str(cause) or type(cause).__name__, secret)
    return RequestFailed(
        "network",
        found.message or f"{service} cannot be reached{text}",
        found.advice,
        retryable=found.retryable,
    )


def closed(service: str) -> RequestFailed:
    """The connection ended before a reply began."""
    return RequestFailed(
        "network", f"{service} closed the connection before a reply came.", _LATER, retryable=True
    )


def unreadable(service: str) -> RequestFailed:
    """The reply's bytes cannot be decompressed."""
    return RequestFailed(
        "protocol",
        f"{service} sent a damaged reply: it cannot be decompressed.",
        "Retry; if it happens again, a proxy in between may be at fault.",
    )


def not_a_stream(
    service: str, content_type: str, body: bytes, *, secret: str = ""
) -> RequestFailed:
    """HTTP 200 with something else than events: an error in JSON, or a page at a wrong address."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    error = error_in(value) if isinstance(value, Mapping) else None
    if error:
        return from_event(service, error, secret=secret)
    kind = content_type.partition(";")[0].strip() or "nothing"
    return RequestFailed(
        "protocol",
        f"{service} answered with {kind} where a stream of events was asked for.",
        "Check the base URL; OpenAI-compatible ones usually end in /v1.",
    )


def no_reply(service: str, text: str, *, secret: str = "") -> RequestFailed:
    """A stream without any event of a reply, only text for people."""
    return RequestFailed(
        "protocol",
        f"{service} sent something that is no reply{quote(text, secret)}",
        "See the server's own log, then try again.",
        retryable=True,
    )


def stalled(service: str, seconds: float, *, begun: bool, pings: bool = False) -> RequestFailed:
    """Nothing arrived for ``seconds``, or with ``pings`` nothing but pings. Never tried again: the
    service may still be working on the reply.
    """
    what = "stopped sending in the middle of the reply" if begun else "did not begin to reply"
    nothing = "nothing but signs of life" if pings else "nothing"
    setting = "first_byte_seconds" if pings or not begun else "stall_seconds"
    return RequestFailed(
        "stalled",
        f"{service} {what} ({nothing} for {seconds:g} s).",
        f"Retry, or allow more time (provider.{setting}).",
    )


def error_in(data: Mapping[str, Any]) -> object:
    """The error that an object of a reply carries, as a body for ``describe``; None for none.

    Services put it under ``error`` or ``base_resp``, in a choice, or at the top level.
    """
    if data.get("error"):
        return data
    told = mapping(data.get("base_resp"))  # MiniMax
    if figure(told.get("status_code")):
        errors: Any = [{"code": told["status_code"], "message": told.get("status_msg")}]
    else:
        errors = data.get("errors")
    for choice in data.get("choices") or () if isinstance(data.get("choices"), list) else ():
        if isinstance(choice, Mapping) and choice.get("error"):
            return {"error": choice["error"]}
    if data.get("choices") or isinstance(data.get("content"), list):
        return None
    if isinstance(errors, list) and errors:
        return {"error": errors[0]}
    said = isinstance(data.get("message"), str) and data["message"]
    marked = "error" in f"{data.get('type')} {data.get('object')}".lower() or "code" in data
    if said and (marked or "status" in data):
        return data
    return data if data.get("detail") and not data.keys() & {"delta", "message"} else None


def describe(body: object) -> tuple[str, str, str]:
    """Type, code and message of an error body; empty where it has none."""
    inner: Any = body
    if isinstance(inner, list) and inner:  # Gemini wraps its errors into a list
        inner = inner[0]
    if isinstance(inner, Mapping) and isinstance(inner.get("error"), Mapping | str):
        beside = inner.get("message") if isinstance(inner["error"], str) else None
        inner = inner["error"]
        if isinstance(beside, str) and beside:  # "Bad Request", with the detail beside it
            inner = f"{inner}: {beside}"
    elif isinstance(inner, Mapping) and not inner.get("message") and rows(inner.get("errors")):
        inner = rows(inner["errors"])[0]
    if isinstance(inner, Mapping):
        text = inner.get("message") or inner.get("msg") or inner.get("detail") or ""
        if isinstance(raw := inner.get("metadata"), Mapping) and raw.get("raw"):
            text = f"{text}: {raw['raw']}"  # the error of the service behind a gateway
        for fault in rows(inner.get("details"))[:5]:
            if isinstance(fault, Mapping) and fault.get("field"):
                text = f"{text}; {fault['field']}: {fault.get('issue') or fault.get('message')}"
        if inner.get("n_ctx"):  # llama.cpp has the sizes beside the text
            text = f"{text} (n_ctx: {inner['n_ctx']})"
        kind = inner.get("type") or inner.get("status") or ""
        return str(kind), str(inner.get("code") or ""), _sentences(text)
    return "", "", "" if inner is None else str(inner)


def subject(body: object) -> str:
    """The field that an error is about, where it names one (``param``)."""
    inner: Any = body[0] if isinstance(body, list) and body else body
    if isinstance(inner, Mapping) and isinstance(inner.get("error"), Mapping):
        inner = inner["error"]
    param = inner.get("param") if isinstance(inner, Mapping) else None
    return param if isinstance(param, str) else ""


def _sentences(text: object) -> str:
    """A message; a list of faults (FastAPI) as sentences, each with its field."""
    if not isinstance(text, list):
        return str(text)
    faults = [fault for fault in text if isinstance(fault, Mapping)]
    if not faults:
        return str(text)
    return "; ".join(
        f"{'.'.join(map(str, f.get('loc') or ()))}: {f.get('msg') or f.get('message') or ''}"
        for f in faults[:5]
    )


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by ``retry-after-ms`` or ``retry-after`` (seconds or an HTTP date)."""
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):
        pass
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
        return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 (not a number)
    except ValueError:
        pass
    try:
        when = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())


def duration(seconds: float) -> str:
    """A duration in words: seconds, or minutes if it is long."""
    number, unit = (seconds, "second") if seconds < 120 else (seconds / 60, "minute")
    return f"{number:.0f} {unit}{'' if round(number) == 1 else 's'}"


def quote(text: str, secret: str = "") -> str:
    """``: “text”.`` on one line, short and without keys; a full stop if there is no text."""
    plain = " ".join(text.split())
    if secret:
        plain = plain.replace(secret, "[key]")
    plain = _KEYS.sub("[key]", plain)
    if not plain or plain.startswith("<"):  # a proxy's HTML page is no message
        return "."
    return f": “{plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + '…'}”."
