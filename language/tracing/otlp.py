"""Spans as OTLP JSON, which an OpenTelemetry collector accepts at ``/v1/traces`` and writes to files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from language.runtime.spans import Recorder, Span

#: The numbers of OTLP for the kinds and the statuses of spans.
_KINDS = {"internal": 1, "server": 2, "client": 3}
_FAILED = 2


def otlp(recorder: Recorder, service: str, version: str) -> dict[str, Any]:
    """One trace as an export request. ``service`` is the name of the program. A span that is still open ends now."""
    now = recorder.now()
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": service})},
                "scopeSpans": [
                    {
                        "scope": {"name": "lang", "version": version},
                        "spans": [_span(recorder, span, now) for span in recorder.spans],
                    }
                ],
            }
        ]
    }


def _span(recorder: Recorder, span: Span, now: float) -> dict[str, Any]:
    attributes = dict(span.attributes)
    if span.failed:
        attributes["error.type"] = span.failed
    shown: dict[str, Any] = {
        "traceId": recorder.trace_id,
        "spanId": f"{span.identifier:016x}",
        "name": span.name,
        "kind": _KINDS[span.kind],
        "startTimeUnixNano": _nanoseconds(span.began),
        "endTimeUnixNano": _nanoseconds(span.ended or now),
        "attributes": _attributes(attributes),
    }
    if span.outer is not None:
        shown["parentSpanId"] = f"{span.outer.identifier:016x}"
    if span.events:
        shown["events"] = [
            {"name": name, "timeUnixNano": _nanoseconds(moment), "attributes": _attributes(given)}
            for name, moment, given in span.events
        ]
    if span.failed:
        shown["status"] = {"code": _FAILED}
    return shown


def _nanoseconds(moment: float) -> str:
    """A Unix time in nanoseconds. OTLP JSON writes 64-bit integers as strings."""
    return str(int(moment * 1e9))


def _attributes(given: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in given.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, (list, tuple)):
        return {"arrayValue": {"values": [_value(item) for item in value]}}
    return {"stringValue": str(value)}
