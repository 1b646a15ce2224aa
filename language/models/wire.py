"""The common part of the protocols of all providers: a request is written as JSON, an answer is read from events or as a
whole.
"""

from __future__ import annotations

from language.models.conversation import Call, ChatMessage, ModelFault, ModelReply, TokenUsage, arguments_of
from language.models.event_lines import ServerSentEvents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ModelRequest, Offer
    from language.models.event_lines import JsonLines


class Malformed(Exception):
    """An answer that does not follow the protocol."""


class ProviderError(Exception):
    """An error that the provider reports inside an answer. ``code`` is the provider's error code."""

    def __init__(self, detail: str, code: str = "") -> None:
        super().__init__(detail)
        self.code = code


class Answer:
    """An answer while it is being read: event by event with :meth:`event`, or at once with :meth:`whole`."""

    wire = ""

    def __init__(self, first: int) -> None:
        #: whether the provider has marked the answer as complete
        self.done = False
        #: whether any content has arrived
        self.began = False
        self.model = ""
        self.stop = "end"
        self.usage = TokenUsage()
        #: the provider's id of the answer
        self.id = ""
        self.texts: list[str] = []
        self._first = first

    def event(self, data: dict[str, Any]) -> str:
        """Adds one event and returns the text that it contains. Raises ``Malformed`` and ``ProviderError``."""
        raise NotImplementedError

    def whole(self, data: dict[str, Any]) -> None:
        """Reads an answer that came without events. Raises ``Malformed`` and ``ProviderError``."""
        raise NotImplementedError

    def calls(self) -> list[tuple[str, str, str]]:
        """Id, name and arguments of each call."""
        raise NotImplementedError

    def opaque(self) -> list[Any] | None:
        """Data that must be sent back to the provider unchanged, in addition to text and calls."""
        return None

    def reply(self) -> ModelReply:
        """The complete answer."""
        import json

        calls = tuple(
            Call(id or f"call_{self._first}_{at}", name, arguments_of(raw), raw)
            for at, (id, name, raw) in enumerate(self.calls(), 1)
        )
        kept = self.opaque()
        opaque = None if kept is None else json.dumps({"wire": self.wire, "items": kept})
        stop = "calls" if calls and self.stop == "end" else self.stop
        message = ChatMessage("assistant", "".join(self.texts), calls, opaque=opaque)
        return ModelReply(message, stop, self.model, self.usage, id=self.id)

    def add_text(self, text: object) -> str:
        """Adds a fragment of the text and returns it."""
        if not isinstance(text, str) or not text:
            return ""
        self.began = True
        self.texts.append(text)
        return text


class Wire:
    """The protocol of a provider. Its error messages begin with ``label``; ``path`` is appended to the base URL."""

    name = ""
    label = ""
    path = ""
    #: the media type of a stream of its events
    streams = "text/event-stream"
    #: the data that ends a stream
    end_mark: str | None = None

    def __init__(self, exact: bool = True) -> None:
        #: whether the provider can enforce a JSON Schema
        self.exact = exact

    def headers(self, key: str | None) -> list[tuple[str, bytes]]:
        """The headers of a request in addition to those of every JSON request."""
        return [] if key is None else [("Authorization", b"Bearer " + key.encode())]

    def body(self, request: ModelRequest, model: str, most: int, stream: bool) -> dict[str, Any]:
        """The request as JSON data. ``most`` is the limit of tokens of the answer."""
        raise NotImplementedError

    def answer(self, request: ModelRequest) -> Answer:
        """A new reader for the answer to a request."""
        raise NotImplementedError

    def lines(self) -> ServerSentEvents | JsonLines:
        """A new splitter of the stream into events."""
        return ServerSentEvents()

    def adapted(self, body: dict[str, Any], detail: str) -> dict[str, Any] | None:
        """The body for a server that rejected a part of it with this error; ``None`` if no change would help."""
        return None


def kept_items(message: ChatMessage, wire: str) -> list[Any] | None:
    """The data that must be sent back with a message, if the message came over the protocol ``wire``; otherwise ``None``."""
    import json

    if message.opaque is None:
        return None
    try:
        kept = json.loads(message.opaque)
    except ValueError:
        kept = None
    if not isinstance(kept, dict) or not isinstance(kept.get("items"), list):
        raise ModelFault(
            "the `opaque` of a message was changed", kind="value", help="Give a message back as the model's answer had it."
        )
    return kept["items"] if kept.get("wire") == wire else None


def arguments(call: Call) -> dict[str, Any]:
    """The arguments of a call as JSON data; empty if they could not be read."""
    import json

    if call.args is None:
        return {}
    try:
        found = json.loads(call.raw or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def closed(schema: Any) -> Any:
    """The JSON Schema with ``additionalProperties: false`` on every described object, which providers require. Defaults are
    left out, because the runtime fills them in after the answer.
    """
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: part if name == "enum" else closed(part) for name, part in schema.items() if name != "default"}
    members = schema.get("properties")
    if schema.get("type") == "object" and isinstance(members, dict):
        found["properties"] = {name: closed(part) for name, part in members.items()}
        found.setdefault("additionalProperties", False)
    return found


def is_strict(schema: Any) -> bool:
    """Whether a provider's strict mode accepts this JSON Schema: every object lists all its members as required and allows no
    others.
    """
    if isinstance(schema, list):
        return all(is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        members = schema.get("properties")
        if not isinstance(members, dict) or schema.get("additionalProperties") is not False:
            return False
        if sorted(schema.get("required") or ()) != sorted(members):
            return False
        return all(is_strict(part) for part in members.values())
    if "type" not in schema or (schema["type"] == "array" and "items" not in schema):
        return False
    return "items" not in schema or is_strict(schema["items"])


def with_schema(request: ModelRequest) -> ModelRequest:
    """The request with its schema as a part of the instructions, for providers without schemas."""
    import json

    if request.schema is None:
        return request
    told = f"Answer with one JSON value and nothing else. It must follow this JSON Schema: {json.dumps(request.schema)}"
    return request.changed(system=f"{request.system}\n\n{told}" if request.system else told, schema=None)


def function_tools(offers: tuple[Offer, ...]) -> list[dict[str, Any]]:
    """The tools in the form of Chat Completions and Ollama."""
    return [
        {"type": "function", "function": {"name": o.name, "description": o.describe, "parameters": closed(o.schema)}}
        for o in offers
    ]


def count(data: object, *path: str) -> int | None:
    """A number of tokens inside JSON data; ``None`` if it is missing."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data if type(data) is int and data >= 0 else None


def detail_of(data: object) -> tuple[str, str]:
    """Text and code of the error that a provider's answer reports; empty where it reports none."""
    error = data.get("error") if isinstance(data, dict) else None
    if isinstance(error, str):
        return error, ""
    if isinstance(error, dict):
        code = error.get("code") or error.get("type")
        return str(error.get("message") or code or "unknown error"), code if isinstance(code, str) else ""
    return "", ""
