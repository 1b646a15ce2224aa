"""Common code for reading from blockchains: JSON-RPC and REST requests with the HTTP client, and polling.

The capability is checked once, when a :class:`ChainNode` is made; all its requests use that grant. Errors name the builtin
and the host, never the URL.
"""

from __future__ import annotations

from language.errors import RuntimeFault
from language.values import Secret, as_map, type_of
from language.values.display import raw_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host.http import HttpReply
    from language.runtime.context import Context

MOST_REPLY = 16 * 1024 * 1024
MOST_CONFIRMATIONS = 1000
_SILENCE = 30
_PAUSE = 1.0
_WAIT = 60.0
_LONGEST_WAIT = 86_400.0
_SHOWN = 200


class Unreachable(RuntimeFault):
    """A failure that may be temporary: no response, or a status of 5xx."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="network")


class ChainNode:
    """A node that the program may reach. Making one checks ``net``. ``headers`` is the map of the program, or ``None``."""

    def __init__(self, ctx: Context, builtin: str, url: Any, headers: Any = None) -> None:
        from stdlib.http_client import granted_target, header_list, no_transport, url_text

        self.ctx = ctx
        self.builtin = builtin
        self._target = granted_target(ctx, builtin, url_text(builtin, url))
        if ctx.host.http is None:
            raise RuntimeFault(no_transport(ctx, builtin), kind="unsupported")
        self._headers = header_list(builtin, headers, self._target, None)
        self.silence = _SILENCE

    def fault(self, text: str) -> RuntimeFault:
        """An error that names the builtin."""
        return RuntimeFault(f"{self.builtin}: {text}", kind="network")

    def answered(self, text: str) -> RuntimeFault:
        """An error about the host's response."""
        return self.fault(f"{self._target.host} {text}")

    def rpc(self, method: str, params: Any, *, authorization: bytes | None = None, errors_by_status: bool = False) -> Any:
        """The result of a JSON-RPC call. ``errors_by_status``: the node sends its RPC errors with a status of 4xx or 5xx."""
        from language.values.json_encoding import encode

        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        data = encode(request, self.builtin, self._refuse_secret).encode()
        headers = [*self._headers, ("Content-Type", b"application/json")]
        if authorization is not None:
            headers.append(("Authorization", authorization))
        reply = self._exchanged("POST", self._target.path_and_query, headers, data)
        if not 200 <= reply.status <= 299:
            failure = self._failed(reply)
            if not errors_by_status:
                raise failure
            try:
                answer = self._json(reply)
            except RuntimeFault:
                raise failure from None
            if type(answer) is not dict or type(answer.get("error")) is not dict:
                raise failure
        else:
            answer = self._json(reply)
        if type(answer) is not dict:
            raise self.answered("returned no JSON-RPC answer")
        error = answer.get("error")
        if error is not None:
            raise self.fault(_rpc_error(error))
        if type(answer.get("id")) is not int or answer["id"] != 1:
            raise self.answered("returned the answer to another request")
        if "result" not in answer:
            raise self.answered("returned an answer without a result")
        return answer["result"]

    def get(self, path: str) -> Any:
        """The decoded JSON of a REST resource below the URL of the node."""
        return self._json(self._get(path))

    def get_text(self, path: str) -> str:
        """The text of a REST resource."""
        return self._get(path).body.decode("utf-8", "replace").strip()

    def _get(self, path: str) -> HttpReply:
        base, mark, query = self._target.path_and_query.partition("?")
        reply = self._exchanged("GET", base.rstrip("/") + path + mark + query, self._headers, None)
        if not 200 <= reply.status <= 299:
            raise self._failed(reply)
        return reply

    def _exchanged(self, method: str, path: str, headers: list[tuple[str, bytes]], body: bytes | None) -> HttpReply:
        from language.host.http import TransportFailure
        from stdlib.http_client import exchanged

        try:
            return exchanged(
                self.ctx, self.builtin, method, self._target, headers, body,
                path=path, timeout=self.silence, most=MOST_REPLY,
            )  # fmt: skip
        except TransportFailure as failure:
            raise Unreachable(f"{self.builtin}: request to {self._target.host} failed: {failure}") from None

    def _failed(self, reply: HttpReply) -> RuntimeFault:
        kind = Unreachable if reply.status >= 500 else RuntimeFault
        start = " ".join(reply.body[: 4 * _SHOWN].decode("utf-8", "replace").split())[:_SHOWN]
        return kind(f"{self.builtin}: {self._target.host} returned HTTP {reply.status}: {start}")

    def _json(self, reply: HttpReply) -> Any:
        from language.values.json_decoding import decode

        try:
            return decode(reply.body.decode("utf-8", "replace"), "")
        except RuntimeFault as fault:
            raise self.answered("returned invalid JSON: " + fault.message.removeprefix(": invalid JSON: ")) from None

    def _refuse_secret(self, secret: Secret) -> None:
        raise self.fault(f"the secret {secret.names[0]} cannot be sent in the parameters (a header may hold one)")


def _rpc_error(error: Any) -> str:
    if type(error) is not dict:
        return f"RPC error: {_start(error)}"
    return f"RPC error {_start(error.get('code'))}: {_start(error.get('message'))}"


def _start(value: Any) -> str:
    text = " ".join(raw_text(value).split())
    return text[: 2 * _SHOWN]


# ---- arguments ---------------------------------------------------------------------------------------------------------


def list_argument(builtin: str, value: Any, what: str) -> list[Any]:
    """An optional argument that is a list."""
    if value is None:
        return []
    if type(value) is not list:
        raise RuntimeFault(f"{builtin}: {what} must be a list, got {type_of(value)}", kind="type")
    return value


def map_argument(builtin: str, value: Any, what: str) -> dict[str, Any]:
    """An argument that is a map, as a new map."""
    entries = as_map(value)
    if entries is None:
        raise RuntimeFault(f"{builtin}: {what} must be a map, got {type_of(value)}", kind="type")
    return dict(entries)


def whole(value: Any) -> int | None:
    """An integer (``2.0`` is accepted); ``None`` for anything else."""
    if type(value) is float and value.is_integer():
        return int(value)
    return value if type(value) is int else None


def confirmations_argument(builtin: str, value: Any) -> int:
    """The number of confirmations to wait for: 1 unless given."""
    count = 1 if value is None else whole(value)
    if count is None or not 1 <= count <= MOST_CONFIRMATIONS:
        raise RuntimeFault(f"{builtin}: the confirmations must be a whole number from 1 to {MOST_CONFIRMATIONS}")
    return count


def plain_word(builtin: str, value: Any, what: str) -> str:
    """A text of ASCII letters and digits, which is safe in a path."""
    if type(value) is not str or not value.isascii() or not value.isalnum():
        raise RuntimeFault(f"{builtin}: the {what} must be a text of letters and digits", kind="type")
    return value


def _wait_seconds(builtin: str, timeout: Any) -> float:
    from language.values.operators import is_decimal

    if timeout is None:
        return _WAIT
    seconds = timeout.to_float() if is_decimal(timeout) else timeout
    if type(seconds) not in (int, float) or not seconds >= 0:
        raise RuntimeFault(f"{builtin}: the timeout must be a non-negative number of seconds")
    return float(min(seconds, _LONGEST_WAIT))


# ---- waiting -----------------------------------------------------------------------------------------------------------


def polled(node: ChainNode, timeout: Any, poll: Callable[[], Any]) -> Any:
    """Polls once a second until there is a result other than ``None``; returns ``nothing`` after ``timeout`` seconds.

    A failure of the first poll, and every permanent failure, is raised at once. A later failure that may be temporary gives one
    warning, and is raised only if it persists until the timeout.
    """
    host = node.ctx.host
    limit = _wait_seconds(node.builtin, timeout)
    started = host.now()
    slept = 0.0  # a host that cannot sleep returns at once: the pauses count as if it had slept
    failure: Unreachable | None = None
    first, told = True, False
    while True:
        left = limit - max(host.now() - started, slept)
        node.silence = _SILENCE if first else max(1, min(_SILENCE, int(left + 1)))
        try:
            answer = poll()
            failure = None
        except Unreachable as unreachable:
            if first:
                raise
            failure = unreachable
            if not told:
                node.ctx.warn(unreachable.message + " (trying again)")
                told = True
        else:
            if answer is not None:
                return answer
        first = False
        left = limit - max(host.now() - started, slept)
        if left <= 0:
            if failure is not None:
                raise RuntimeFault(failure.message + " (the wait deadline expired during this failure)", kind=failure.kind)
            return None
        pause = min(_PAUSE, left)
        host.sleep(pause)
        slept += pause
