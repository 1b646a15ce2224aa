"""The colours of charts, to every eye, and the texts of their axes."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdlib.charts.palette import DARK, LIGHT, Theme, channels, luminance
from stdlib.charts.ticks import number_text, scale, short_text

# What remains of linear red, green and blue for people who lack one kind of cones (Machado, Oliveira, Fernandes 2009).
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def perceived(color: str, sight: str) -> tuple[float, float, float]:
    """The colour in OKLab, where distances are about what people see."""
    parts = [part / 255 for part in channels(color)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    red, green, blue = (min(1, max(0, sum(a * b for a, b in zip(row, linear)))) for row in SIGHTS[sight])
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_series_differ_for_everybody(theme: Theme, sight: str) -> None:
    for one, other in itertools.combinations(theme.series, 2):
        assert math.dist(perceived(one, sight), perceived(other, sight)) > 0.1, (one, other)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_contrast(theme: Theme) -> None:
    def contrast(one: str, other: str) -> float:
        dark, light = sorted((luminance(one), luminance(other)))
        return (light + 0.05) / (dark + 0.05)

    assert all(contrast(color, theme.surface) >= 3 for color in theme.series)
    assert all(contrast(color, theme.surface) >= 4.5 for color in (theme.text, theme.muted))
    levels = [luminance(color) for color in theme.sequential]
    assert levels in (sorted(levels), sorted(levels, reverse=True))


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (0, 3, 5, ["0", "1", "2", "3"]),
        (0, 10, 4, ["0", "2.5", "5.0", "7.5", "10.0"]),
        (-3, 7, 5, ["−4", "−2", "0", "2", "4", "6", "8"]),
        (0, 0.3, 3, ["0", "0.1", "0.2", "0.3"]),
        (0, 12_000, 3, ["0", "5,000", "10,000", "15,000"]),
        (1990, 2020, 3, ["1990", "2000", "2010", "2020"]),
        (0, 2.4e6, 5, ["0", "0.5M", "1.0M", "1.5M", "2.0M", "2.5M"]),
        (0, 3e18, 3, ["0", "1e18", "2e18", "3e18"]),
        (0, 3e-7, 3, ["0", "1e−7", "2e−7", "3e−7"]),
        (5, 5, 2, ["4", "5", "6"]),
        (0, 0, 2, ["0", "0.5", "1.0"]),
    ],
)
def test_tick_texts(low: float, high: float, count: int, expected: list[str]) -> None:
    whole = all(float(text.replace("−", "-").replace(",", "")).is_integer() for text in expected if text[-1].isdigit())
    assert scale(low, high, count, whole=whole and high > 1).texts == expected


FINITE = st.floats(-1e290, 1e290)


@given(FINITE, FINITE, st.integers(1, 20), st.booleans(), st.booleans())
def test_scales(one: float, other: float, count: int, whole: bool, tight: bool) -> None:
    low, high = min(one, other), max(one, other)
    if whole:
        low, high = float(round(low)), float(round(high))
    found = scale(low, high, count, whole=whole, tight=tight)
    assert found.low < found.high and len(found.ticks) == len(found.texts) <= 2 * count + 4
    assert all(before < after for before, after in itertools.pairwise(found.ticks))
    assert len(set(found.texts)) == len(found.texts)
    if high - low > abs(high) * 1e-11 and high - low > abs(low) * 1e-11 and high - low > 1e-280:
        slack = (high - low) * 1e-6
        assert found.low <= low + slack and high - slack <= found.high
        assert found.part(low) >= -1e-6 and found.part(high) <= 1 + 1e-6


@pytest.mark.parametrize(
    ("number", "full", "short"),
    [
        (0.0, "0", "0"), (5, "5", "5"), (-2.5, "−2.5", "−2.5"), (1234.5678, "1234.57", "1235"),
        (12345678, "12,345,678", "12.3M"),
        (0.123456, "0.1235", "0.123"), (99_999.0, "99,999", "100K"), (1e20, "1e20", "1e20"), (2.5e-7, "2.5e−7", "2.5e−7"),
        (999_950_000, "999,950,000", "1B"), (1e-300, "1e−300", "1e−300"),
    ],
)  # fmt: skip
def test_number_texts(number: float, full: str, short: str) -> None:
    assert (number_text(number), short_text(number)) == (full, short)
