"""Where the playground of this installation lies: the page in which programs run inside of the browser."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

WEB_BUILD = "lang-web.wasm"
#: Where it lies beside an installed package, and the sources that it is put together from.
INSTALLED = Path(sys.prefix) / "share" / "ceiling-lang" / "playground"
CHECKOUT = Path(__file__).resolve().parents[2]
_SECONDS = 60


def find_playground(data: Path, installed: Path = INSTALLED, checkout: Path = CHECKOUT) -> Path | None:
    """The folder of the playground; ``None`` where there is no web build.

    Args:
        data: the folder of the platform. A checkout in which the web build was made has its playground written there.
    """
    if (installed / WEB_BUILD).is_file():
        return installed
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
