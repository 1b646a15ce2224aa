"""Finds the playground of this installation: the page on which programs run in the browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WEB_BUILD = "lang-web.wasm"
#: Its folder in an installed package that contains it.
INSTALLED = Path(__file__).resolve().parents[1] / "playground_site"
CHECKOUT = Path(__file__).resolve().parents[2]
_SECONDS = 60


def installed_playground(installed: Path = INSTALLED) -> Path | None:
    """The folder of the playground in this installation; ``None`` for one that was made without the web build."""
    return installed if (installed / WEB_BUILD).is_file() else None


def find_playground(data: Path, installed: Path = INSTALLED, checkout: Path = CHECKOUT) -> Path | None:
    """The folder of the playground; ``None`` where there is no web build.

    Args:
        data: the folder of the platform. A checkout in which the web build was made has its playground written there.
    """
    if (found := installed_playground(installed)) is not None:
        return found
    if not (checkout / "dist" / WEB_BUILD).is_file() or not (checkout / "wasm_abi" / "playground").is_dir():
        return None
    folder = data / "playground"
    command = [sys.executable, "-m", "wasm_abi.playground", "--out", str(folder.absolute())]
    made = subprocess.run(command, cwd=checkout, capture_output=True, timeout=_SECONDS, check=False, umask=0o077)
    if made.returncode != 0:
        shown = made.stderr.decode("utf-8", "replace").strip()
        print(f"lang platform: the playground could not be written: {shown[-500:]}", file=sys.stderr, flush=True)
        return None
    return folder
