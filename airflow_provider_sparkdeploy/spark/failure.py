"""What Spark could not do, in one exception, said without Java.

Spark's clients raise a hundred classes, with stack traces, query plans and wire dumps in their
messages. Above this package there is one class, and its message is for a person.
"""

from __future__ import annotations

import re
from typing import Any

# The session or the whole server is gone; the same statement may pass in a new session.
_LOST = (
    "NO_ACTIVE_SESSION",  # how the client itself says it after the first answer of that kind
    "INVALID_HANDLE.SESSION_CHANGED",
    "INVALID_HANDLE.SESSION_CLOSED",
    "INVALID_HANDLE.SESSION_NOT_FOUND",
    "INVALID_HANDLE.OPERATION_ABANDONED",
    "INVALID_HANDLE.OPERATION_NOT_FOUND",
)
_AWAY = ("UNAVAILABLE", "DEADLINE_EXCEEDED")
# How a connection that breaks may be told of, too; of Spark's own errors these have a condition.
_BROKEN = ("INTERNAL", "UNKNOWN", "CANCELLED", "ABORTED")

_JAVA = re.compile(r"\n+(JVM stacktrace:|Driver stacktrace:|\s+at [\w.$/<>]+\(|Caused by: )[\s\S]*")
_PLAN = re.compile(r"(; line \d+ pos \d+);?\n[\s\S]*")
_NAMED = re.compile(r"\[([A-Z][A-Z0-9_.]*)\]")
_CLASS = re.compile(r"^\((?:[\w$]+\.)+[\w$]+\) ")


class SparkFailure(Exception):
    """Spark refused a statement, or could not be reached.

    ``condition`` is Spark's error condition (``TABLE_OR_VIEW_NOT_FOUND``), empty where there is
    none. ``transient`` says that the same statement may pass later: the network, not the SQL.
    """

    def __init__(self, message: str, *, condition: str = "", transient: bool = False) -> None:
        super().__init__(message)
        self.condition = condition
        self.transient = transient


class HalfDone(SparkFailure):
    """Some of what belongs together was done, and the rest was refused: nobody may call that a failure
    and forget it. Whoever goes on finishes it."""


def translate(error: Exception, address: str) -> SparkFailure:
    """The failure behind whatever the client raised. ``address`` is where the server should be."""
    reason = _network_reason(error)
    if reason:
        return SparkFailure(f"cannot reach Spark at {address}: {reason}", transient=True)
    condition = _condition(error)
    if condition in _LOST or "server side session" in str(error):
        return SparkFailure(
            f"Spark at {address} no longer knows this session: it was restarted, or closed the session",
            condition=condition,
            transient=True,
        )
    return SparkFailure(plain(str(error)), condition=condition)


def plain(message: str) -> str:
    """Spark's message without stack trace, query plan, and class names."""
    return _CLASS.sub("", _PLAN.sub(r"\1", _JAVA.sub("", message))).strip()


def _condition(error: Exception) -> str:
    """Spark's condition. One that the client met while it reattached is inside its own, and one
    that comes straight from the wire is in the text."""
    getter = getattr(error, "getCondition", None)
    if getter is None:
        found = _NAMED.match(_detail(error))
        return found.group(1) if found else ""
    condition = str(getter() or "")
    if condition == "RESPONSE_ALREADY_RECEIVED":
        return str((error.getMessageParameters() or {}).get("error_type", condition))  # type: ignore[attr-defined]
    return condition


def _network_reason(error: BaseException | None) -> str:
    """Why the server was not reached; empty where it was."""
    while error is not None:
        code: Any = _grpc_code(error)
        name = getattr(code, "name", "")
        if name in _AWAY or (name in _BROKEN and isinstance(error, _wire_error()) and not _named(error)):
            return _detail(error) or name.lower().replace("_", " ")
        error = error.__cause__  # the client gives up with an exception of its own
    return ""


def _wire_error() -> type[BaseException]:
    """What comes straight from the wire, not from Spark by way of it."""
    import grpc

    return grpc.RpcError  # type: ignore[no-any-return]


def _named(error: BaseException) -> bool:
    """Whether an error of the wire carries one of Spark's."""
    return bool(_NAMED.match(_detail(error)) or _CLASS.match(_detail(error)) or _has_error_info(error))


def _has_error_info(error: BaseException) -> bool:
    trailing = getattr(error, "trailing_metadata", None)
    pairs = (trailing() if callable(trailing) else None) or ()
    return any(key == "grpc-status-details-bin" for key, _ in pairs)


def _grpc_code(error: BaseException) -> Any:
    for name in ("code", "getGrpcStatusCode"):
        getter = getattr(error, name, None)
        if callable(getter):
            return getter()
    return None


def _detail(error: BaseException) -> str:
    details = getattr(error, "details", None)
    text = str(details() or "") if callable(details) else str(error)
    found = re.search(r'details = "([^"]*)"', text)  # the client's own exception has a dump in it
    line = (found.group(1) if found else text).strip().split("\n")[0]
    return "" if line.startswith("<") else line
