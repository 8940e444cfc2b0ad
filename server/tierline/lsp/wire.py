"""The JSON-RPC layer: pygls' protocol with our types, and with answers to malformed requests."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

import attrs
from cattrs.errors import ClassValidationError
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInternalError
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCNotification

from tierline.errors import TierlineError
from tierline.lsp import protocol

log = logging.getLogger(__name__)

_ID: Any = int | str
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
    """Stands for a message that has been answered already, or that nobody waits for."""

    jsonrpc: str = "ignored"


class TierlineProtocol(LanguageServerProtocol):
    """pygls' language server protocol with the custom methods' types registered."""

    @lru_cache  # noqa: B019 - one instance per process
    def get_message_type(self, method: str) -> type[Any] | None:
        """The attrs class of a request or notification, ours included."""
        if method == protocol.EVENT:
            return attrs.make_class(
                "EventNotification",
                {
                    "params": attrs.field(type=protocol.Event),
                    "method": attrs.field(type=str),
                    "jsonrpc": attrs.field(type=str),
                },
            )
        if method == protocol.EDITOR_PART:
            return attrs.make_class(
                "EditorPartNotification",
                {
                    "params": attrs.field(type=protocol.EditorPartParams),
                    "method": attrs.field(type=str),
                    "jsonrpc": attrs.field(type=str),
                },
            )
        for ours in (*protocol.METHODS, *protocol.CLIENT_METHODS):
            if ours.name == method:
                return attrs.make_class(
                    f"{ours.params.__name__}Request",
                    {
                        "id": attrs.field(type=_ID),
                        "method": attrs.field(type=str),
                        "jsonrpc": attrs.field(type=str),
                        "params": attrs.field(type=_optional(ours.params), default=None),
                    },
                )
        return super().get_message_type(method)

    @lru_cache  # noqa: B019 - one instance per process
    def get_result_type(self, method: str) -> type[Any] | None:
        """The attrs class of a client's answer to one of our requests."""
        for ours in protocol.CLIENT_METHODS:
            if ours.name == method:
                return attrs.make_class(
                    f"{ours.result.__name__}Response",
                    {
                        "id": attrs.field(type=_ID),
                        "result": attrs.field(type=ours.result),
                        "jsonrpc": attrs.field(type=str),
                    },
                )
        return super().get_result_type(method)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Parse one message. A request that does not parse is answered, not dropped.

        pygls raises here, which leaves the client waiting for ever.
        """
        if "jsonrpc" not in data or not ("method" in data or "id" in data):
            return data
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            cause = error.__cause__
            detail = _sentence(cause) if cause is not None else str(error)
            if "id" in data and "method" in data:
                self._send_response(
                    data["id"],
                    error=lsp.ResponseError(
                        code=_NUMBERS["invalid_params"],
                        message=f"The parameters of {data['method']} are not understood: {detail}.",
                        data={
                            "code": "invalid_params",
                            "advice": "Compare them with docs/protocol.md.",
                        },
                    ),
                )
            else:
                log.warning("Ignored a malformed message: %s", detail)
            return _Ignored()

    def handle_message(self, message: Any) -> None:
        """Dispatch, unless the message has been dealt with already."""
        if isinstance(message, _Ignored):
            return
        if not hasattr(message, "jsonrpc"):
            log.warning("Ignored a message that is not JSON-RPC 2.0")
            return
        super().handle_message(message)

    def _handle_cancel_notification(self, msg_id: Any) -> None:
        """Cancelling what has finished is normal and not worth a line in the log."""
        if msg_id in self._request_futures:
            super()._handle_cancel_notification(msg_id)

    def _send_data(self, data: Any) -> None:
        """Nothing can be sent before a client is connected or after it has gone."""
        if self.writer is None and isinstance(data, JsonRPCNotification):
            return
        closing = getattr(self.writer, "is_closing", None)
        if closing is not None and closing():
            return
        super()._send_data(data)


def _optional(params: type) -> Any:
    """Parameters may be left out: the handler then takes the defaults."""
    return params | None


def _sentence(error: BaseException) -> str:
    """The innermost messages of a cattrs error, without its tree."""
    if isinstance(error, ClassValidationError):
        return "; ".join(_sentence(inner) for inner in error.exceptions)
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(_sentence(inner) for inner in error.exceptions)
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return str(error) or type(error).__name__
