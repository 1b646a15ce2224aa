"""The largest response from outside that is read; a larger one is an error."""

from __future__ import annotations

import os

from language.host.http import MOST_BODY
from language.settings import read_setting, whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def most_bytes(warn: Callable[[str], None]) -> int:
    """``PLATFORM_HTTP_MAX_BYTES`` of the process environment: the largest body or message, in bytes.

    ``warn`` is called with a text about an invalid value; the default holds then.
    """
    name = "PLATFORM_HTTP_MAX_BYTES"
    return read_setting(name, os.environ.get(name), whole_number(1, 10**15), "a positive integer", MOST_BODY, warn)
