"""What lies in a folder while a program works in it."""

from __future__ import annotations

import os
from pathlib import Path


def paths_below(folder: Path) -> list[Path]:
    """Every file and folder below a folder, in no order.

    ``Path.rglob`` raises if a folder is removed after it was listed and before it is entered. Here such a folder is empty.
    """
    return [Path(place) / name for place, folders, files in os.walk(folder) for name in (*folders, *files)]
