"""Handler mode: one request in, one reply out, without a socket (docs/embedding.md).

The top level of the program runs once. Every request starts from the state after it.
"""

from __future__ import annotations

from language.errors import ExitProgram, InternalError, LanguageError, LimitExceeded, RuntimeFault
from language.serve.application import Application
from language.serve.reply import Reply
from language.serve.request import Request, authority, split_target
from language.serve.surroundings import HandlerSurroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from language.audit.records import Audit
    from language.runtime.context import Context
    from language.runtime.instance import Instance
    from language.serve.table import ServeTable

NO_BLOCK = "handle: the program has no `serve` block — nothing to route the request to"
NOT_PREPARED = "the program could not be prepared (see errors)"
_HOSTS = (
    "serve: `host` blocks (virtual hosts) are not supported in handler mode — the edge host routes by hostname before calling "
    "the handler; use one table"
)
_MOUNTS = "serve: `mount` of exported route groups is not supported in handler mode yet — declare the routes in the serve block"
_STATICS = "lang: warning: static mounts are ignored in handler mode: the host serves files"


class Captured:
    """A ``Hosting`` that does not listen: it keeps the application of the first ``serve`` block."""

    def __init__(self, detailed: bool) -> None:
        self.application: Application | None = None
        self._detailed = detailed

    def serve(self, instance: Instance, port: int, table: ServeTable) -> None:
        context = instance.context
        context.check("serve", str(port))
        if table.hosts:
            raise RuntimeFault(_HOSTS, code="E0702")
        if table.mounted:
            raise RuntimeFault(_MOUNTS, code="E0702")
        if table.default.statics:
            context.host.write_error_line(_STATICS)
        if self.application is None:
            self.application = Application(context, table, port, around=HandlerSurroundings(table), detailed=self._detailed)


class Prepared:
    """A program whose top level has run. ``errors``, if not empty, says why it cannot answer, followed by what its top level
    printed.
    """

    def __init__(
        self,
        context: Context,
        audit: Audit,
        make: Callable[[], Instance],
        within: Callable[[Callable[[], object]], None],
        detailed: bool = True,
    ) -> None:
        """``detailed`` says whether the body of a 500 names the cause. The log always does."""
        captured = Captured(detailed)
        self.application: Application | None = None
        context.services.captured = captured
        self.errors: list[str] = []
        self.limit: str | None = None
        try:
            within(lambda: make().run())
        except (LanguageError, InternalError) as error:
            self.errors.append(str(error) if isinstance(error, LanguageError) else f"Runtime error: internal error: {error}")
        except LimitExceeded as passed:
            self.errors.append(f"Runtime error: {passed}")
            self.limit = passed.limit
        except ExitProgram as ended:
            self.errors.append(f"Runtime error: the program called exit({ended.code}) while it was prepared")
        except MemoryError:
            self.errors.append("Runtime error: out of memory")
        self.application = captured.application
        if not self.errors and self.application is None:
            self.errors.append(NO_BLOCK)
        if self.errors:
            self.errors += [f"[top-level output] {line}" for line in context.collected]
        #: the output of the top level, for the log of the first reply
        self._written = [] if self.errors else list(context.collected)
        self._context = context
        self._audit = audit
        audit.prepared()

    def answer(self, request: Mapping[str, Any], within: Callable[[Callable[[], object]], None]) -> dict[str, Any]:
        """The reply to one request as a plain dict. Raises ``TypeError`` or ``ValueError`` for a request that is not valid."""
        record = request_of(request)
        if self.errors or self.application is None:
            answer = _as_dict(_error(500, NOT_PREPARED), [], self.errors)
            passed = self.limit
        else:
            reply, log, passed = self._reply(self.application, record, within)
            if record.method == "HEAD" and reply.content_type is not None:
                reply.headers.append(("Content-Length", str(len(reply.body))))
                reply.body = b""
            answer = _as_dict(reply, self._written + log, [])
            self._written = []
        if passed is not None:
            answer["limit"] = passed
        answer.update(self._audit.answer())
        self._audit.clear()  # each call reports only its own records
        return answer

    def _reply(
        self, application: Application, record: Request, within: Callable[[Callable[[], object]], None]
    ) -> tuple[Reply, list[str], str | None]:
        replies: list[Reply] = []
        log: list[str] = []
        try:
            within(lambda: replies.append(application.handled(record, log)))
            most = self._context.output_limit
            if most is not None and len(replies[0].body) > most:
                raise LimitExceeded("output_bytes", most)
        except LimitExceeded as limit:
            return _error(503, limit.message), [*log, f"Runtime error: {limit}"], limit.limit
        except MemoryError:
            return _error(500, "out of memory"), log, None
        finally:
            agents = self._context.services.agents
            if agents is not None:
                agents.blackboard.clear()
        return replies[0], log, None


def request_of(given: Mapping[str, Any]) -> Request:
    """The record of a request given as a dict: ``method``, ``path``, ``headers``, ``body`` or ``body_base64``, ``ip``.

    Raises ``TypeError`` or ``ValueError`` that names the wrong part.
    """
    method, target = _text(given, "method", "GET").upper(), _text(given, "path", "/")
    body = _text(given, "body", "").encode("utf-8", "replace")
    if given.get("body_base64") is not None:
        from base64 import b64decode

        try:
            text = _text(given, "body_base64", "").replace("-", "+").replace("_", "/")  # the URL-safe alphabet is accepted, too
            body = b64decode(text, validate=True)
        except ValueError:
            raise ValueError("request: `body_base64` is not Base64") from None
    path, query = split_target(target if target.startswith("/") or "://" in target else "/" + target)
    fields, address = _fields(given.get("headers")), _text(given, "ip", "")
    request = Request(method, path, query, fields, body, address=address, secure=True, octets=False)
    request.public_host = authority(target)
    return request


def _text(given: Mapping[str, Any], name: str, default: str) -> str:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise TypeError(f"request: `{name}` must be text, not {type(value).__name__}")
    return _whole(value)


def _whole(text: str) -> str:
    """The text without lone surrogates, which texts of the language cannot contain."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _fields(headers: Any) -> list[tuple[str, str]]:
    if headers is None:
        return []
    pairs = list(headers.items()) if hasattr(headers, "items") else headers
    if not isinstance(pairs, (list, tuple)):
        pairs = [None]
    fields = []
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(part, str) for part in pair):
            raise TypeError("request: `headers` must be an object or a list of [name, value] pairs of text")
        fields.append((_whole(pair[0]).lower(), _whole(pair[1]).strip(" \t")))
    return fields


def _error(status: int, message: str) -> Reply:
    from language.serve.shaping import error_reply

    return error_reply(status, message)


def _as_dict(reply: Reply, log: list[str], errors: list[str]) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "status": reply.status,
        "content_type": reply.content_type or "",
        "headers": [[name, value] for name, value in reply.headers],
    }
    try:
        answer["body"] = reply.body.decode("utf-8")
    except UnicodeDecodeError:
        from base64 import b64encode

        answer.update(body="", body_base64=b64encode(reply.body).decode("ascii"))
    answer.update(log=log, errors=errors)
    return answer
