"""The JSON-RPC layer: pygls' protocol with our types, and with answers to malformed requests.

Which private parts of pygls are replaced here, and why, is listed in
``tests/unit/lsp/test_pygls_private.py``, which fails when a release changes one of them.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import attrs
from cattrs.errors import ClassValidationError
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)

from tierline import protocol
from tierline.errors import TierlineError
from tierline.lsp.codec import sanitize

log = logging.getLogger(__name__)

_ID: Any = int | str
NOT_INITIALIZED, INVALID_REQUEST = -32002, -32600
"""LSP, "ErrorCodes"."""
_NUMBERS = {error.code: error.number for error in protocol.ERRORS}


class MethodError(JsonRpcException):
    """A TierlineError on its way to the client."""

    def __init__(self, error: TierlineError) -> None:
        super().__init__(
            error.message,
            _NUMBERS.get(error.code, JsonRpcInternalError.CODE),
            {"code": error.code, "advice": error.advice},
        )


@attrs.define
class _Ignored:
    """Stands for a message that was answered already or needs no answer."""

    jsonrpc: str = "ignored"


class TierlineProtocol(LanguageServerProtocol):
    """pygls' language server protocol with the custom methods' types registered."""

    _begun = False
    """Whether ``initialize`` was received."""

    @lru_cache  # noqa: B019 - one instance per process
    def get_message_type(self, method: str) -> type[Any] | None:
        """The attrs class of a request or notification, ours included."""
        if method == protocol.EVENT:
            return _message("EventNotification", method=str, params=protocol.Event)
        if method == protocol.EDITOR_PART:
            params = protocol.EditorPartParams
            return _message("EditorPartNotification", method=str, params=params)
        for ours in (*protocol.METHODS, *protocol.CLIENT_METHODS):
            if ours.name == method:
                name, given = f"{ours.params.__name__}Request", _optional(ours.params)
                return _message(name, id=_ID, method=str, params=given)
        return super().get_message_type(method)

    @lru_cache  # noqa: B019 - one instance per process
    def get_result_type(self, method: str) -> type[Any] | None:
        """The attrs class of a client's answer to one of our requests."""
        for ours in protocol.CLIENT_METHODS:
            if ours.name == method:
                return _message(f"{ours.result.__name__}Response", id=_ID, result=ours.result)
        return super().get_result_type(method)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Parse one message. A request that does not parse is answered, not dropped.

        pygls raises here, which leaves the client waiting for ever.
        """
        if not isinstance(data, dict) or "jsonrpc" not in data:
            return data
        if not ("method" in data or "id" in data):
            return data
        try:
            return self._structured(data)
        except Exception as error:
            detail = _sentence(error)
            method = data.get("method")
            if "method" not in data:
                log.warning("Ignored a malformed answer of the client")
            elif "id" not in data:
                log.warning("Ignored a malformed notification %s", _name(method))
            else:
                self._refuse(
                    data["id"],
                    _NUMBERS["invalid_params"],
                    f"The parameters of {_name(method)} are not understood: {detail}.",
                    {"code": "invalid_params", "advice": "Compare them with docs/protocol.md."},
                )
            return _Ignored()

    def _structured(self, data: dict[str, Any]) -> Any:
        """Like pygls' method, which would also log a message that it could not read: a prompt."""
        kind: Any
        if "id" not in data:
            kind = self.get_message_type(data["method"]) or JsonRPCNotification
        elif "error" in data:
            kind = lsp.ResponseErrorMessage
        elif "method" in data:
            kind = self.get_message_type(data["method"]) or JsonRPCRequestMessage
        else:
            kind = self._result_types.pop(data["id"], None) or JsonRPCResponseMessage
        if _ours(data.get("method")) and "params" in data:
            data = data | {"params": sanitize(data["params"])}
        return self._converter.structure(data, kind)

    def handle_message(self, message: Any) -> None:
        """Dispatch, unless the message has been dealt with already or comes at the wrong time.

        LSP, "initialize" and "shutdown": requests before the first and after the second are
        refused with ServerNotInitialized and InvalidRequest; notifications are dropped.
        """
        if isinstance(message, _Ignored):
            return
        if not hasattr(message, "jsonrpc"):
            log.warning("Ignored a message that is not JSON-RPC 2.0")
            return
        method = getattr(message, "method", "")
        if not isinstance(method, str):
            log.warning("Ignored a message whose method is no text")
            return
        asks = bool(method) and hasattr(message, "id")
        if asks and not _identifies(message.id):
            self._refuse(None, INVALID_REQUEST, "The id of a request is an integer or a text.")
        elif self._shutdown and asks:
            self._refuse(message.id, INVALID_REQUEST, "The server is shutting down.")
        elif method == lsp.INITIALIZE and self._begun:
            self._refuse(message.id, INVALID_REQUEST, "The server is initialized already.")
        elif method == lsp.INITIALIZE:
            self._begun = True
            super().handle_message(message)
        elif method and not self._begun and method != lsp.EXIT:
            if asks:
                text = "The server is not initialized yet: send initialize first."
                self._refuse(message.id, NOT_INITIALIZED, text)
        else:
            super().handle_message(message)

    def _refuse(self, number: Any, code: int, message: str, data: Any = None) -> None:
        """Answer a request with an error. For an invalid id the answer has null, as JSON-RPC 2.0
        requires for an unreadable one.
        """
        known = _identifies(number)
        language = getattr(self._server, "language", None)
        if language is not None:
            message = language.say(message)
            if isinstance(data, dict) and "advice" in data:
                data = data | {"advice": language.say(data["advice"])}
        error = lsp.ResponseError(code=code, message=message, data=data)
        self._send_data(
            lsp.ResponseErrorMessage(id=number if known else None, jsonrpc="2.0", error=error)
        )

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        """Send the answer to a request. Expected errors are not logged; others are logged with
        their place in the code, while the client gets a sentence.
        """
        error = None if future.cancelled() else future.exception()
        if error is None:
            super()._send_handler_result(future, msg_id=msg_id)
            return
        self._request_futures.pop(msg_id, None)
        if isinstance(error, JsonRpcException):
            self._refuse(msg_id, error.code, error.message, error.data)
            return
        if isinstance(error, UnicodeEncodeError):
            # A name with bytes that are not UTF-8, where only text can be: the log, an index.
            self._refuse(
                msg_id,
                _NUMBERS["invalid_params"],
                "A text in the parameters has half of a character in it.",
                {"code": "invalid_params", "advice": "Send whole characters."},
            )
            return
        log.error("A request failed", exc_info=error)
        self._refuse(
            msg_id,
            JsonRpcInternalError.CODE,
            "The request failed inside Tierline.",
            {"code": "internal", "advice": "See the log, then try again."},
        )

    def _execute_handler(
        self, msg_id: Any, handler: Any, callback: Any, args: Any = None, kwargs: Any = None
    ) -> None:
        """Like pygls' method, which would also keep a future of 2 KB for each notification for
        ever, one for every keystroke.
        """

        def ended(future: Any) -> None:
            self._request_futures.pop(msg_id, None)
            callback(future)

        super()._execute_handler(msg_id, handler, ended, args, kwargs)

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """Cancel a request; one that has finished is not logged, as that is normal."""
        if _identifies(msg_id) and msg_id in self._request_futures:
            super()._handle_cancel_notification(msg_id)

    def _send_data(self, data: Any) -> None:
        """Send a message; nothing is done before a client is connected or after it has gone."""
        if self.writer is None and isinstance(data, JsonRPCNotification):
            return
        closing = getattr(self.writer, "is_closing", None)
        if closing is not None and closing():
            return
        super()._send_data(data)


def _message(name: str, **parts: Any) -> type[Any]:
    """A class of JSON-RPC messages with parts of these types. What may be None may be left out."""
    fields = {
        part: attrs.field(type=kind, default=None if kind == _optional(kind) else attrs.NOTHING)
        for part, kind in parts.items()
    }
    return attrs.make_class(name, {"jsonrpc": attrs.field(type=str), **fields})


def _optional(params: Any) -> Any:
    """Parameters may be left out: the handler then takes the defaults."""
    return params | None


def _identifies(number: object) -> bool:
    """LSP, "Request message": an id is an integer or a string."""
    return isinstance(number, int | str) and not isinstance(number, bool)


def _ours(method: object) -> bool:
    return isinstance(method, str) and method.startswith("tierline/")


def _name(method: object) -> str:
    return method[:100] if isinstance(method, str) else "a method whose name is no text"


def _sentence(error: BaseException) -> str:
    """The innermost messages of a cattrs error, without its tree."""
    if isinstance(error, ClassValidationError):
        return "; ".join(_sentence(inner) for inner in error.exceptions)
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_sentence(inner) for inner in error.exceptions)
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return str(error) or type(error).__name__
