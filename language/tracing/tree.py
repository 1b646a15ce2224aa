"""Spans as a tree of lines for a person: nesting, durations and failures."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from language.runtime.spans import Recorder, Span

#: Attributes that a line shows after the name, with the word that it writes for each.
_SHOWN = {"gen_ai.usage.input_tokens": "in", "gen_ai.usage.output_tokens": "out", "gen_ai.agent.id": "id"}
#: The deepest indentation of a line, in levels.
_DEEPEST = 40


def tree(recorder: Recorder) -> Iterator[str]:
    """The lines of the tree, each span below the one that contains it."""
    inside: dict[int, list[Span]] = {}
    for span in recorder.spans:
        inside.setdefault(0 if span.outer is None else span.outer.identifier, []).append(span)
    now = recorder.now()
    pending = [(span, 0) for span in reversed(inside.get(0, []))]
    while pending:
        span, depth = pending.pop()
        yield _line(span, min(depth, _DEEPEST), now)
        pending += [(inner, depth + 1) for inner in reversed(inside.get(span.identifier, []))]
    if recorder.dropped:
        yield f"... and {recorder.dropped} more"


def _line(span: Span, depth: int, now: float) -> str:
    told = [f"{word} {span.attributes[name]}" for name, word in _SHOWN.items() if name in span.attributes]
    if span.failed:
        told.append(f"failed: {span.failed}")
    milliseconds = ((span.ended or now) - span.began) * 1000
    rest = f" ({', '.join(told)})" if told else ""
    return f"{milliseconds:10.1f} ms  {'  ' * depth}{span.name}{rest}"
