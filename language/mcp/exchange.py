"""One message of a tool client and its reply, independent of the transport and of how tools are run.

Two kinds of versions of the protocol are supported. A request of a stateless version names that version in its
``params._meta``. Every other message belongs to the versions that begin with ``initialize``. No state is kept between messages.
"""

from __future__ import annotations

from language.mcp.protocol import (
    CAPABILITIES_KEY,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    SERVER_KEY,
    STATELESS_VERSIONS,
    STATUSES,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    VERSIONS,
    elicitation_modes,
    error,
    header_text,
    is_id,
    is_response,
    result,
)
from language.values import as_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_IN_BATCH = 100
_METHODS = ("initialize", "ping", "tools/list", "tools/call")
_STATELESS_METHODS = ("server/discover", "tools/list", "tools/call")


class ToolOffer:
    """The description of a server.

    Args:
        name: its name.
        version: its own version.
        tools: the entries of ``tools/list``: maps with ``name``, ``description``, ``inputSchema`` and further members.
        callable_tools: names that may be called without being listed.
        instructions: the text for every client.
        batches: whether a list of messages (JSON-RPC batch) is answered.
    """

    __slots__ = ("batches", "instructions", "name", "names", "tools", "version")

    def __init__(
        self,
        name: str,
        version: str,
        tools: list[dict[str, Any]],
        *,
        callable_tools: tuple[str, ...] = (),
        instructions: str | None = None,
        batches: bool = True,
    ) -> None:
        self.name = name
        self.version = version
        self.tools = tools
        self.names = frozenset([tool["name"] for tool in tools]).union(callable_tools)
        self.instructions = instructions
        self.batches = batches

    def about(self) -> dict[str, Any]:
        """``serverInfo``."""
        return {"name": self.name, "version": self.version}


class ToolCall:
    """A call that waits for its tool. Exactly one of ``give``, ``ask`` and ``refuse`` must be called before
    ``ToolExchange.reply``.

    Attributes:
        ident: the id of its message.
        name: one of the offered names.
        arguments: the map that was sent, unchecked.
        stateless: whether the request is one of a stateless version.
        modes: the modes of elicitation (``url``, ``form``) by which the client asks its user; none in older versions.
        state: the ``requestState`` of a call that is sent again; ``None`` for a new call.
        responses: the ``inputResponses`` that come with it.
    """

    __slots__ = ("_answer", "arguments", "ident", "modes", "name", "responses", "state", "stateless")

    def __init__(
        self,
        ident: Any,
        name: str,
        arguments: dict[str, Any],
        stateless: bool,
        *,
        modes: frozenset[str] = frozenset(),
        state: str | None = None,
        responses: dict[str, Any] | None = None,
    ) -> None:
        self.ident = ident
        self._answer: dict[str, Any] | None = None
        self.name = name
        self.arguments = arguments
        self.stateless = stateless
        self.modes = modes
        self.state = state
        self.responses = responses or {}

    def give(self, outcome: dict[str, Any]) -> None:
        """Answers with the result of the tool: ``content``, and where they apply ``structuredContent`` and ``isError``."""
        self._answer = result(self.ident, _complete(outcome) if self.stateless else outcome)

    def ask(self, requests: dict[str, Any], state: str) -> None:
        """Answers that the tool needs input: the client sends the call again, with ``state`` and a response to each request.

        Args:
            requests: the requests by their key; empty if the client only has to send the call again.
            state: the ``requestState``.
        """
        asked: dict[str, Any] = {"resultType": "input_required"}
        if requests:
            asked["inputRequests"] = requests
        self._answer = result(self.ident, {**asked, "requestState": state})

    def refuse(self, message: str, code: int = INVALID_PARAMS, data: Any = None) -> None:
        """Answers with an error of the protocol: the tool did not run."""
        self._answer = error(self.ident, code, message, data)

    def answer(self) -> dict[str, Any]:
        """The reply to this call."""
        assert self._answer is not None
        return self._answer


class ToolExchange:
    """Reads a message. The transport runs ``calls`` in order and then sends what ``reply`` returns.

    Args:
        message: the decoded body; ``None`` if it was not JSON.
        offer: the server.
        field: returns the value of an HTTP header field by its lower-case name, ``None`` for a missing one. It must join the
            values of a repeated field: no single one may count, because a proxy may have read another one.
            Without this function the message did not come over HTTP, and no field is checked.

    Attributes:
        calls: the tools to run.
    """

    __slots__ = ("_field", "_offer", "_replies", "_single", "_status", "calls")

    def __init__(self, message: Any, offer: ToolOffer, field: Callable[[str], str | None] | None = None) -> None:
        self.calls: list[ToolCall] = []
        self._offer = offer
        self._field = field
        self._status = 200
        self._single = type(message) is not list
        self._replies: list[dict[str, Any] | ToolCall] = []
        self._read(message)

    def reply(self) -> tuple[int, Any]:
        """The HTTP status and the body; 202 without a body (``None``) for a message that gets no reply."""
        replies = [one.answer() if isinstance(one, ToolCall) else one for one in self._replies]
        if not replies:
            return 202, None
        if not self._single:
            return self._status, replies
        status = self._status
        if status == 0:
            status = STATUSES.get(replies[0]["error"]["code"], 200) if "error" in replies[0] else 200
        return status, replies[0]

    def _read(self, message: Any) -> None:
        version = None if self._field is None else self._field("mcp-protocol-version")
        fields = as_map(message)
        meta = None if fields is None else _meta(fields)
        if (meta is not None and VERSION_KEY in meta) or version in STATELESS_VERSIONS:
            self._single, self._status = True, 0  # the status of the error
            self._read_stateless(fields, meta or {}, version)
        elif version is not None and version not in VERSIONS:
            known = ", ".join((*STATELESS_VERSIONS, *VERSIONS))
            self._refuse(400, INVALID_REQUEST, f"unsupported protocol version: this server speaks {known}")
        elif type(message) is list:
            if not self._offer.batches:
                self._refuse(400, INVALID_REQUEST, "a list of messages is not taken: send them one by one")
            elif not 0 < len(message) <= MOST_IN_BATCH:
                self._refuse(200, INVALID_REQUEST, "invalid request")
            elif self._field is not None and any(self._field(name) for name in ("mcp-method", "mcp-name")):
                self._refuse(400, HEADER_MISMATCH, "the header field Mcp-Method names one message, the body is a list")
            else:
                for item in message:
                    self._read_one(as_map(item))
        elif message is None:
            self._refuse(200, PARSE_ERROR, "parse error")
        else:
            self._read_one(fields)

    def _refuse(self, status: int, code: int, message: str) -> None:
        """Replies to the whole body with an error."""
        self._single, self._status = True, status
        self._replies.append(error(None, code, message))

    def _request(self, fields: dict[str, Any] | None) -> tuple[Any, str] | None:
        """The id and method of a request; ``None`` for any other message, which then has its reply, if any."""
        if fields is None or not is_id(fields.get("id")):
            self._replies.append(error(None, INVALID_REQUEST, "invalid request"))
            return None
        ident, method, responds = fields.get("id"), fields.get("method"), is_response(fields)
        if fields.get("jsonrpc") != "2.0" or not (responds or type(method) is str):
            self._replies.append(error(ident, INVALID_REQUEST, "invalid request"))
            return None
        return None if responds or "id" not in fields else (ident, str(method))

    def _read_one(self, fields: dict[str, Any] | None) -> None:
        """Reads a message of a version with ``initialize``."""
        request = self._request(fields)
        if request is None or fields is None:
            return
        ident, method = request
        if method not in _METHODS:
            self._replies.append(error(ident, METHOD_NOT_FOUND, "method not found"))
            return
        params = as_map(fields.get("params", {}))
        if params is None:
            self._replies.append(error(ident, INVALID_PARAMS, "params must be a map"))
        elif differs := self._differs(method, params, needed=False):
            self._status = 400
            self._replies.append(error(ident, HEADER_MISMATCH, differs))
        elif method == "ping":
            self._replies.append(result(ident, {}))
        elif method == "initialize":
            self._replies.append(result(ident, self._introduction(params.get("protocolVersion"))))
        elif method == "tools/list":
            self._replies.append(result(ident, {"tools": self._offer.tools}))
        else:
            self._call(ident, params, stateless=False)

    def _read_stateless(self, fields: dict[str, Any] | None, meta: dict[str, Any], version: str | None) -> None:
        """Reads a request of a stateless version."""
        request = self._request(fields)
        if request is None or fields is None:
            return
        ident, method = request
        params = as_map(fields.get("params", {}))
        if params is None:
            self._replies.append(error(ident, INVALID_PARAMS, "params must be a map"))
            return
        if missing := [key for key in (VERSION_KEY, CAPABILITIES_KEY) if key not in meta]:
            self._replies.append(error(ident, INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}"))
            return
        asked, capabilities = meta[VERSION_KEY], as_map(meta[CAPABILITIES_KEY])
        if self._field is not None and version != asked:
            why = "the header field MCP-Protocol-Version does not say what params._meta says"
            self._replies.append(error(ident, HEADER_MISMATCH, why))
        elif differs := self._differs(method, params, needed=True):
            self._replies.append(error(ident, HEADER_MISMATCH, differs))
        elif type(asked) is not str:
            self._replies.append(error(ident, INVALID_PARAMS, f"{VERSION_KEY} must be text"))
        elif asked not in STATELESS_VERSIONS:
            data = {"supported": [*STATELESS_VERSIONS, *VERSIONS], "requested": asked}
            self._replies.append(error(ident, UNSUPPORTED_VERSION, "unsupported protocol version", data))
        elif capabilities is None:
            self._replies.append(error(ident, INVALID_PARAMS, f"{CAPABILITIES_KEY} must be a map"))
        elif method not in _STATELESS_METHODS:
            self._replies.append(error(ident, METHOD_NOT_FOUND, "method not found"))
        elif method == "server/discover":
            self._replies.append(result(ident, _complete(self._discovery())))
        elif method == "tools/list":
            self._replies.append(result(ident, _complete({"tools": self._offer.tools, **_uncached()})))
        else:
            self._call(ident, params, stateless=True, modes=elicitation_modes(capabilities))

    def _differs(self, method: str, params: dict[str, Any], *, needed: bool) -> str | None:
        """How the header fields, by which proxies route and filter, contradict the body; ``None`` if they agree.

        Args:
            needed: whether the fields are required.
        """
        if self._field is None:
            return None
        said: list[tuple[str, Any]] = [("Mcp-Method", method)]
        if method == "tools/call":
            said.append(("Mcp-Name", params.get("name")))
        for name, value in said:
            given = self._field(name.lower())
            if given is None and (not needed or value is None):
                continue
            if given is None or header_text(given) != value:
                return f"the header field {name} does not say what the body says"
        return None

    def _introduction(self, asked: Any) -> dict[str, Any]:
        introduction = {
            "protocolVersion": asked if type(asked) is str and asked in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": self._offer.about(),
        }
        return self._instructed(introduction)

    def _discovery(self) -> dict[str, Any]:
        found = {
            "supportedVersions": [*STATELESS_VERSIONS, *VERSIONS],
            "capabilities": {"tools": {}},
            **_uncached(),
            "_meta": {SERVER_KEY: self._offer.about()},
        }
        return self._instructed(found)

    def _instructed(self, introduction: dict[str, Any]) -> dict[str, Any]:
        if self._offer.instructions is not None:
            introduction["instructions"] = self._offer.instructions
        return introduction

    def _call(self, ident: Any, params: dict[str, Any], *, stateless: bool, modes: frozenset[str] = frozenset()) -> None:
        name, given = params.get("name"), params.get("arguments")
        arguments = {} if given is None else as_map(given)
        state = params.get("requestState") if stateless else None
        if type(name) is not str or name not in self._offer.names:
            self._replies.append(error(ident, INVALID_PARAMS, "unknown tool"))
        elif arguments is None:
            self._replies.append(error(ident, INVALID_PARAMS, "arguments must be a map"))
        elif state is not None and type(state) is not str:
            self._replies.append(error(ident, INVALID_PARAMS, "requestState must be text"))
        elif state is not None and not modes:
            data: dict[str, Any] = {"requiredCapabilities": {"elicitation": {}}}
            self._replies.append(error(ident, MISSING_CAPABILITY, "the call goes on with the capability elicitation", data))
        else:
            responses = as_map(params.get("inputResponses")) if stateless else None
            call = ToolCall(ident, name, arguments, stateless, modes=modes, state=state, responses=responses)
            self.calls.append(call)
            self._replies.append(call)


def _meta(fields: dict[str, Any]) -> dict[str, Any] | None:
    params = as_map(fields.get("params"))
    return None if params is None else as_map(params.get("_meta"))


def _complete(value: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", **value}


def _uncached() -> dict[str, Any]:
    """Marks a result as not cacheable: the tools depend on the client, and on the version of the server."""
    return {"ttlMs": 0, "cacheScope": "private"}
