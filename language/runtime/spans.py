"""The spans of a run: each records an operation, its begin and end, the span that contains it, and whether it failed.

They exist only if a trace is recorded. Code records an operation as follows::

    with ctx.span("chat " + model, "client", {"gen_ai.request.model": model}) as span:
        ...
        span.set("gen_ai.usage.input_tokens", tokens)

Without a trace :meth:`language.runtime.context.Context.span` gives ``NO_SPAN``, and this module is not loaded. If attributes
are expensive to compute, check first whether ``ctx.spans`` is ``None``.

A span never holds a prompt, an answer, an argument or a secret. Such texts are attributes only where ``ctx.spans.content`` is
true: then the person who asked for the trace asked for content too.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.host import Host

#: How many spans one run keeps. Further ones are counted and left out.
MOST_SPANS = 100_000
#: How many events one span keeps.
MOST_EVENTS = 128


class Span:
    """One span, a context manager. ``kind`` is ``internal`` or ``client``, in OpenTelemetry's sense.

    ``identifier`` is a number of 64 bits. ``outer`` is the span that it was begun in, ``None`` at the root. ``began`` and
    ``ended`` are Unix times in seconds; ``ended`` is 0 while the span is open. ``failed`` is empty, or what kind of error ended
    it.
    """

    __slots__ = ("_spans", "attributes", "began", "ended", "events", "failed", "identifier", "kind", "name", "outer")

    def __init__(self, spans: Spans, name: str, kind: str, attributes: Mapping[str, Any] | None) -> None:
        self._spans = spans
        self.outer: Span | None = None
        self.name = name
        self.kind = kind
        self.attributes: dict[str, Any] = dict(attributes or {})
        self.identifier = 0
        #: what happened inside: name, Unix time, attributes
        self.events: list[tuple[str, float, dict[str, Any]]] = []
        self.began = self.ended = 0.0
        self.failed = ""

    def set(self, name: str, value: Any) -> None:
        """Sets an attribute: text, a number, a bool, or a list of texts. ``None`` sets nothing."""
        if value is not None:
            self.attributes[name] = value

    def fail(self, kind: str) -> None:
        """Marks the span as failed although no exception leaves it. ``kind`` is a word without data (``timeout``, ``429``)."""
        self.failed = kind

    def __enter__(self) -> Span:
        self._spans.begin(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is not None and not self.failed:
            self.failed = str(getattr(error, "kind", "")) or type(error).__name__
        self._spans.end(self)


class Recorder:
    """All spans of one run, in the order in which they began. ``content`` says whether texts of the program may be kept."""

    def __init__(self, host: Host, *, content: bool = False) -> None:
        from itertools import count

        self.content = content
        self.trace_id = host.random_bytes(16).hex()
        self.spans: list[Span] = []
        self.dropped = 0
        self._monotonic = host.monotonic
        self._base = host.now() - host.monotonic()
        # Counts from a random number: identifiers are unique in the trace and almost certainly differ from those of other
        # traces.
        self._numbers = count(int.from_bytes(host.random_bytes(7), "big") + 1)

    def now(self) -> float:
        """Unix time in seconds, by a clock that is not set back during the run."""
        return self._base + self._monotonic()

    def number(self) -> int:
        """A new identifier."""
        return next(self._numbers)

    def add(self, span: Span) -> None:
        if len(self.spans) < MOST_SPANS:
            self.spans.append(span)
        else:
            self.dropped += 1


class Spans:
    """The spans of one context. Those of a worker or an agent begin inside the span that was open where it was started."""

    __slots__ = ("current", "recorder")

    def __init__(self, recorder: Recorder, current: Span | None = None) -> None:
        self.recorder = recorder
        self.current = current

    @property
    def content(self) -> bool:
        """Whether prompts, answers and arguments may be attributes."""
        return self.recorder.content

    def span(self, name: str, kind: str = "internal", attributes: Mapping[str, Any] | None = None) -> Span:
        """A span that begins when it is entered, inside of the one that is open in this context."""
        return Span(self, name, kind, attributes)

    def event(self, name: str, attributes: dict[str, Any]) -> None:
        """Adds an event to the span that is open, if one is."""
        if self.current is not None and len(self.current.events) < MOST_EVENTS:
            self.current.events.append((name, self.recorder.now(), attributes))

    def fork(self) -> Spans:
        """The spans of a child context."""
        return Spans(self.recorder, self.current)

    def begin(self, span: Span) -> None:
        span.identifier = self.recorder.number()
        span.outer = self.current
        span.began = self.recorder.now()
        self.recorder.add(span)
        self.current = span

    def end(self, span: Span) -> None:
        span.ended = self.recorder.now()
        self.current = span.outer
