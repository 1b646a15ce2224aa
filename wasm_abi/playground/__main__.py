"""``python -m wasm_abi.playground``: the playground on this machine, or as a folder for any server of static files."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from wasm_abi.playground.layout import WEB_BUILD, write
from wasm_abi.playground.serving import server


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m wasm_abi.playground", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1 (default: 8000)")
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="write the site into a folder instead of serving it")
    options = parser.parse_args()
    if not WEB_BUILD.is_file():
        print(f"{WEB_BUILD} is not there: build it with `make wasm`", file=sys.stderr)
        return 1
    if options.out is not None:
        write(options.out)
        print(f"{options.out}: the playground, for any server of static files")
        return 0
    with server(options.port) as running:
        print(f"http://127.0.0.1:{running.server_port}/", flush=True)
        try:
            running.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
