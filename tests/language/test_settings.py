"""Settings out of the environment: what is wrong is one warning, and the default counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from language.native.server.settings import from_environment, grace_from_environment
from language.settings import number, read_setting, size, whole_number
from language.values.byte_sizes import BEYOND_ANY, size_in_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0), ("1024", 1024), (" 16MB ", 16 * 1024**2), ("1.5kb", 1536), ("2 Gb", 2 * 1024**3), ("0001b", 1),
        ("0" * 5000 + "7", 7), ("9" * 5000 + "gb", BEYOND_ANY), ("0." + "9" * 5000 + "kb", 1023),
        ("", None), ("kb", None), (".5mb", None), ("1.", None), ("-1", None), ("1e3", None), ("1tb", None), ("²", None),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int | None) -> None:
    assert size_in_bytes(text) == size


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (number(1), {"1": 1.0, " 2.5 ": 2.5, "1e3": 1000.0}, ["0.5", "nan", "inf", "x", "-1"]),
        (number(0, above=True), {"0.1": 0.1}, ["0", "-0.0", "1e400"]),
        (whole_number(1, 64), {"1": 1, "064": 64}, ["0", "65", "6_4", "+1", "1.0", "٣", "9" * 5000]),
        (size, {"1kb": 1024}, ["0", "many"]),
    ],
)
def test_what_is_wrong_is_one_warning(read: Callable[[str], Any], good: dict[str, Any], bad: list[str]) -> None:
    warnings: list[str] = []
    for unset in (None, "", " "):
        assert read_setting("PLATFORM_X", unset, read, "good", 7, warnings.append) == 7
    for text, value in good.items():
        assert read_setting("PLATFORM_X", text, read, "good", 7, warnings.append) == value
    assert warnings == []
    for text in bad:
        assert read_setting("PLATFORM_X", text, read, "good", 7, warnings.append) == 7
        shown = text if len(text) < 100 else text[:100] + "…"
        assert warnings.pop() == f"PLATFORM_X must be good, got {shown!r}: using 7"
        assert warnings == []


def test_those_of_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    wrong = {"PLATFORM_SERVE_WORKERS": "0", "PLATFORM_SSE_KEEPALIVE": "soon", "PLATFORM_WS_MAX_MESSAGE": "16 MiB"}
    assert from_environment(wrong, warnings.append) == from_environment({}, warnings.append)
    assert warnings == [
        "PLATFORM_SERVE_WORKERS must be a number of at least 1, got '0': using 4096",
        "PLATFORM_SSE_KEEPALIVE must be a number of at least 0, got 'soon': using 15",
        "PLATFORM_WS_MAX_MESSAGE must be a size such as 16MB, got '16 MiB': using 16777216",
    ]
    assert from_environment({"PLATFORM_WS_MAX_MESSAGE": "1.5 KB"}, warnings.append).most_message == 1536
    monkeypatch.setenv("PLATFORM_SHUTDOWN_GRACE", "-1")
    assert grace_from_environment(warnings.append) == 10
    assert warnings[3:] == ["PLATFORM_SHUTDOWN_GRACE must be a number of seconds, got '-1': using 10"]
