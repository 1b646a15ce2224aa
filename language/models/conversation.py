"""A conversation with a language model: messages, offered tools, a request, its reply, and the interface of every model.

These classes are the same for each provider. Their objects are not changed after construction.
"""

from __future__ import annotations

from language.errors import RuntimeFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.errors import ErrorKind
    from language.runtime.context import Context

    #: Called with each fragment of the answer's text as it arrives.
    OnChunk = Callable[[str], None]

#: Who a message is from. ``tool`` is the result of a call.
ROLES = ("system", "user", "assistant", "tool")
#: Why a model stopped: its answer is complete; it asks for tools; the token limit was reached; it or its provider refused to
#: answer; the program or one of its limits ended the tool loop.
STOPS = ("end", "calls", "length", "refusal", "stopped")


class Call:
    """A call of a tool that a model asks for.

    ``id`` pairs it with its result. ``args`` are the arguments by name as values of the language, ``None`` if the model did not
    send a JSON object. ``raw`` is the text that it sent.
    """

    __slots__ = ("args", "id", "name", "raw")

    def __init__(self, id: str, name: str, args: dict[str, Any] | None, raw: str = "") -> None:
        self.id = id
        self.name = name
        self.args = args
        self.raw = raw


class ChatMessage:
    """One message. ``role`` is one of ``ROLES``.

    ``calls`` are those that an assistant's message asks for. ``call_id`` is the call that a tool's message answers, ``failed``
    says that the tool failed. ``opaque`` is data that must be sent back unchanged to the provider with an assistant's message
    (signed thinking, encrypted reasoning): JSON text that only the provider reads, or ``None``.
    """

    __slots__ = ("call_id", "calls", "content", "failed", "opaque", "role")

    def __init__(
        self,
        role: str,
        content: str,
        calls: tuple[Call, ...] = (),
        call_id: str | None = None,
        failed: bool = False,
        opaque: str | None = None,
    ) -> None:
        self.role = role
        self.content = content
        self.calls = calls
        self.call_id = call_id
        self.failed = failed
        self.opaque = opaque


class Offer:
    """A tool that a model may call. ``schema`` is the JSON Schema of its arguments, an object, as plain JSON data."""

    __slots__ = ("describe", "name", "schema")

    def __init__(self, name: str, describe: str, schema: dict[str, Any]) -> None:
        self.name = name
        self.describe = describe
        self.schema = schema


class ModelRequest:
    """One question to a model.

    Args:
        messages: what was said so far, the oldest first.
        system: the system prompt, or ``None``.
        offers: the tools that the model may call.
        choice: ``None`` or ``auto`` (the model decides), ``none`` (no tool), ``any`` (some tool), else the name of the tool
            that it must call.
        schema: the JSON Schema that the answer is to follow, or ``None``.
        model: a model's name or an alias of the settings; ``None`` is the configured model.
        max_tokens: the most tokens of the answer; ``None`` is the configured limit.
        effort: how much the model shall reason: ``low``, ``medium``, ``high``; ``None`` leaves it to the provider.
        timeout: seconds for the whole call, retries included; ``None`` is the configured limit.
        retries: how often a failed call is retried; ``None`` is the configured number.
        operation: what the program asked for: ``reason``, ``decide``, ``analyze``, ``generate``, ``chat``, ``stream``,
            ``step``. The mock and an embedder's hook distinguish calls by it.
        said: the prompt for a hook, if it is not the content of the last message.
    """

    __slots__ = (
        *("choice", "effort", "max_tokens", "messages", "model", "offers", "operation"),
        *("retries", "said", "schema", "system", "timeout"),
    )

    def __init__(
        self,
        messages: tuple[ChatMessage, ...],
        system: str | None = None,
        offers: tuple[Offer, ...] = (),
        choice: str | None = None,
        schema: dict[str, Any] | None = None,
        model: str | None = None,
        max_tokens: int | None = None,
        effort: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        *,
        operation: str = "chat",
        said: str | None = None,
    ) -> None:
        self.messages = messages
        self.system = system
        self.offers = offers
        self.choice = choice
        self.schema = schema
        self.model = model
        self.max_tokens = max_tokens
        self.effort = effort
        self.timeout = timeout
        self.retries = retries
        self.operation = operation
        self.said = said

    @property
    def prompt(self) -> str:
        """The last question to the model, as one text."""
        if self.said is not None:
            return self.said
        return self.messages[-1].content if self.messages else ""

    def changed(self, **parts: Any) -> ModelRequest:
        """A copy of the request with these attributes replaced."""
        given = {name: parts.get(name, getattr(self, name)) for name in self.__slots__}
        return ModelRequest(**given)


class TokenUsage:
    """The tokens of one call. Of the ``input``, ``cached`` were read from the provider's cache and ``written`` put into it;
    ``reasoning`` are part of the ``output``.
    """

    __slots__ = ("cached", "input", "output", "reasoning", "written")

    def __init__(self, input: int = 0, output: int = 0, cached: int = 0, reasoning: int = 0, written: int = 0) -> None:
        self.input = input
        self.output = output
        self.cached = cached
        self.reasoning = reasoning
        self.written = written

    @property
    def total(self) -> int:
        """The number of tokens that counts against a budget."""
        return self.input + self.output

    def __add__(self, more: TokenUsage) -> TokenUsage:
        """The sum of the tokens of two calls."""
        return TokenUsage(
            self.input + more.input,
            self.output + more.output,
            self.cached + more.cached,
            self.reasoning + more.reasoning,
            self.written + more.written,
        )


class ModelReply:
    """The answer of a model.

    ``message`` is the assistant's message, to be sent back with the next request; ``text`` and ``calls`` are taken from it.
    ``stop`` is one of ``STOPS``. ``model`` is the name of the model that answered, ``id`` the provider's id of this answer,
    empty if it gave none. ``first_chunk`` are the seconds from the request to the first content of a streamed answer.
    """

    __slots__ = ("first_chunk", "id", "message", "model", "stop", "usage")

    def __init__(
        self,
        message: ChatMessage,
        stop: str,
        model: str,
        usage: TokenUsage,
        *,
        id: str = "",
        first_chunk: float | None = None,
    ) -> None:
        self.message = message
        self.stop = stop
        self.model = model
        self.usage = usage
        self.id = id
        self.first_chunk = first_chunk

    @property
    def text(self) -> str:
        return self.message.content

    @property
    def calls(self) -> tuple[Call, ...]:
        return self.message.calls


class ModelFault(RuntimeFault):
    """A model gave no answer. The message shows neither the prompt nor the answer nor a key.

    ``spent`` are the tokens that the provider reported before the failure, or an estimate for an answer that broke off;
    ``used`` has the same by kind, if known. ``id`` and ``first_chunk`` are as in :class:`ModelReply`.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: ErrorKind = "network",
        help: str = "",
        spent: int = 0,
        used: TokenUsage | None = None,
        id: str = "",
        first_chunk: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind, help=help)
        self.spent = spent if used is None else used.total
        self.used = used
        self.id = id
        self.first_chunk = first_chunk

    @property
    def marker(self) -> str:
        """The text that ``reason``, ``decide``, ``analyze`` and ``generate`` give in place of an answer."""
        return f"[{self.message}]"


class Model:
    """A language model. ``provider`` and ``name`` are for audits and traces.

    ``asks_again`` says whether a ``decide`` may ask a second time. ``longest_answer`` is the most tokens of an answer where a
    request names no number.
    """

    provider = ""
    name = ""
    asks_again = True
    longest_answer = 4096
    #: whether the request includes information about the program (``PLATFORM_LLM_CONTEXT``)
    takes_background = False

    def converse(self, request: ModelRequest, on_chunk: OnChunk | None, ctx: Context) -> ModelReply:
        """Asks once. ``on_chunk`` is called with each fragment of the answer's text, in order; what it raises ends the call.

        Raises ``ModelFault`` without an answer.
        """
        raise NotImplementedError

    def most_tokens(self, request: ModelRequest) -> tuple[int, int]:
        """The tokens that a call may use: an estimate for the question, and the maximum for the answer."""
        return estimated_tokens(request), request.max_tokens or self.longest_answer


def estimated_tokens(request: ModelRequest) -> int:
    """An estimate of the tokens of a question, rather too high than too low.

    The usual vocabularies need one token for four characters of English, three of source code, or two bytes of other scripts.
    """
    texts = [request.system or "", *(message.content for message in request.messages)]
    for message in request.messages:
        texts += [call.raw for call in message.calls]
        texts.append(message.opaque or "")
    for offer in request.offers:
        texts += [offer.name, offer.describe, str(offer.schema)]
    if request.schema is not None:
        texts.append(str(request.schema))
    tokens = 8 * (len(request.messages) + len(request.offers) + 1)
    for text in texts:
        plain = len(text.encode("ascii", "ignore"))
        tokens += plain // 3 + (len(text.encode("utf-8", "replace")) - plain) // 2
    return tokens


def arguments_of(raw: str) -> dict[str, Any] | None:
    """The arguments of a call as values of the language, empty for an empty text; ``None`` if the text cannot be read."""
    from language.values.json_decoding import parse

    if not raw.strip():
        return {}
    try:
        found = parse(raw)
    except ValueError:
        return None
    return found if type(found) is dict else None
