"""Whether clients of a program that runs under ``lang`` read the causes of its errors."""

from __future__ import annotations

import os

from language.cli.streams import warn
from language.settings import read_setting


def with_detail() -> bool:
    """Whether error replies contain the cause: ``PLATFORM_ERROR_DETAIL``, without it ``PLATFORM_DEV=1``."""
    name = "PLATFORM_ERROR_DETAIL"
    if not os.environ.get(name, "").strip():
        return os.environ.get("PLATFORM_DEV") == "1"
    told = {"on": True, "off": False}
    return read_setting(name, os.environ.get(name), lambda text: told.get(text.lower()), "on or off", False, warn, "off")
