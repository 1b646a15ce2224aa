"""The files of the playground as a site: where each of them lies in this repository."""

from __future__ import annotations

import shutil
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WRAPPER = ROOT / "wasm_abi" / "js"
WEB_BUILD = ROOT / "dist" / "lang-web.wasm"
KINDS = (".css", ".html", ".js", ".lang", ".svg")


def files() -> dict[str, Path]:
    """The site: from the path below its root to the file."""
    found = {path.relative_to(HERE).as_posix(): path for path in HERE.rglob("*") if path.suffix in KINDS}
    found |= {f"js/{path.name}": path for path in WRAPPER.glob("*.js")}
    return {**found, "lang-web.wasm": WEB_BUILD}


def write(folder: Path) -> None:
    """Copies the site into a folder, for any server of static files."""
    for name, path in files().items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
