"""Spans of a run: how they nest, what they keep of an error, that there are none without a trace."""

from __future__ import annotations

import pytest

from language.errors import RuntimeFault
from language.host import EmbeddedHost
from language.runtime.context import Context
from language.runtime.no_span import NO_SPAN
from language.runtime.spans import MOST_SPANS, Recorder, Spans


def traced() -> tuple[Context, Recorder]:
    context = Context(EmbeddedHost())
    recorder = Recorder(context.host)
    context.spans = Spans(recorder)
    return context, recorder


def test_without_a_trace_there_is_one_span_that_keeps_nothing() -> None:
    context = Context(EmbeddedHost())
    with context.span("chat m", "client", {"a": 1}) as span:
        span.set("b", 2)
    assert span is NO_SPAN
    assert context.fork().span("x") is NO_SPAN


def test_spans_nest_in_their_context_and_in_those_that_it_starts() -> None:
    context, recorder = traced()
    with context.span("outer", attributes={"a": 1}) as outer:
        worker = context.fork()
        with context.span("inner") as inner:
            inner.set("tokens", 3)
            inner.set("nothing", None)
        with worker.span("work"):
            pass
    with context.span("after"):
        pass
    assert [(span.name, span.outer and span.outer.name) for span in recorder.spans] == [
        ("outer", None),
        ("inner", "outer"),
        ("work", "outer"),
        ("after", None),
    ]
    assert recorder.spans[1].attributes == {"tokens": 3}
    assert len({span.identifier for span in recorder.spans}) == 4
    assert all(0 < span.began <= span.ended for span in recorder.spans)
    assert outer is recorder.spans[0]


def test_a_span_says_what_kind_of_error_ended_it_and_lets_it_pass() -> None:
    context, recorder = traced()
    with pytest.raises(RuntimeFault), context.span("db"):
        raise RuntimeFault("the text may hold data", kind="database")
    with pytest.raises(ValueError, match="x"), context.span("own"):
        raise ValueError("x")
    with context.span("answered") as span:
        span.fail("429")
    assert [span.failed for span in recorder.spans] == ["database", "ValueError", "429"]


def test_the_number_of_kept_spans_is_bounded() -> None:
    context, recorder = traced()
    recorder.spans = [recorder.spans] * (MOST_SPANS - 1)  # type: ignore[list-item]
    for _ in range(3):
        with context.span("one"):
            pass
    assert (len(recorder.spans), recorder.dropped) == (MOST_SPANS, 2)
