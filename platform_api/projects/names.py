"""How a project may be called."""

from __future__ import annotations

import re

from platform_api.refusals import Refusal

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,100}")


def refuse_bad_name(name: str) -> None:
    """Errors: ``validation`` for a text that names no project."""
    if not _NAME.fullmatch(name):
        raise Refusal("validation", "A name has 1 to 100 characters, and no control characters.", field="name")
