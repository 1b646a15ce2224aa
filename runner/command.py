"""``lang platform runner``: the arguments, and the process around the runner."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def command(words: Sequence[str]) -> int:
    """Runs ``lang platform runner WORDS`` and gives its exit code: 0, 1 for what could not be done, 2 for a wrong call."""
    try:
        arguments = _parser().parse_args(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    if sys.platform != "linux":
        print("lang platform runner: a runner needs Linux", file=sys.stderr)
        return 1
    from language.lifeline import follow_parent
    from runner.engines import EngineError
    from runner.main import FolderInUse, lock, serve
    from runner.settings import settings_from

    try:
        settings = settings_from(**vars(arguments))
        held = lock(settings)
        follow_parent()
        try:
            asyncio.run(serve(settings))
        finally:
            os.close(held)
    except (ValueError, OSError, EngineError, FolderInUse) as error:
        print(f"lang platform runner: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="lang platform runner",
        description="Runs the programs of a platform on this machine until it is stopped.",
        allow_abbrev=False,
    )
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="the folder of the runner (default: ~/.lang/runner)")
    parser.add_argument("--service", metavar="URL", help="the service (default: http://127.0.0.1:8787)")
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="holds what `lang platform runner-token` printed")
    parser.add_argument("--id", metavar="ID", help="the runner that the token was made for (default: runner)")
    parser.add_argument(
        "--engine", choices=["auto", "docker", "process"], help="what programs run in (default: the best that answers)"
    )
    parser.add_argument("--base-url", metavar="URL", help="how browsers reach the service, where that is another address")
    parser.add_argument("--capacity-mb", metavar="MB", help="memory for programs in all (default: three quarters)")
    return parser
