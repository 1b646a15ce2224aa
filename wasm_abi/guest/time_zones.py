"""Time zones without files: their rules are part of the build."""

from __future__ import annotations

import io
import zoneinfo._common
from typing import IO

from _lang_time_zones import ZONES


def _load(key: str) -> IO[bytes]:
    try:
        return io.BytesIO(ZONES[key])
    except KeyError:
        raise zoneinfo._common.ZoneInfoNotFoundError(f"No time zone found with key {key}") from None


def provide() -> None:
    """Makes ``zoneinfo`` read its rules from here."""
    zoneinfo._common.load_tzdata = _load  # type: ignore[assignment]
