"""``python -m wasm_abi.js_package``: the npm package of the web build as a folder; ``npm pack`` there makes the archive."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path

from language import version

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "wasm_abi" / "js"
WEB_BUILD = ROOT / "dist" / "lang-web.wasm"
TARGET = ROOT / "dist" / "js"


def write(target: Path, web_build: Path) -> None:
    """Writes the package: the wrapper, the module, and the module's digest in ``package.json``."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in [*SOURCES.glob("*.js"), SOURCES / "lang.d.ts", SOURCES / "README.md", ROOT / "LICENSE", web_build]:
        shutil.copyfile(path, target / path.name)
    described = json.loads((SOURCES / "package.json").read_text(encoding="utf-8"))
    described["version"] = version().removeprefix("v")
    described["wasm"] = {"file": web_build.name, "sha256": hashlib.sha256(web_build.read_bytes()).hexdigest()}
    (target / "package.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wasm_abi.js_package", description=__doc__)
    parser.add_argument("--out", type=Path, default=TARGET, help="the folder of the package (dist/js)")
    options = parser.parse_args()
    if not WEB_BUILD.is_file():
        print(f"{WEB_BUILD} is not there: build it with `make wasm`", file=sys.stderr)
        return 1
    write(options.out, WEB_BUILD)
    print(f"{options.out}: the package, for `npm pack`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
