"""``lang platform runner``: its arguments, and the start and the end of its process."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path


def command(words: Sequence[str]) -> int:
    """Runs ``lang platform runner WORDS`` and returns its exit code: 0, 1 after a failure, 2 for a wrong call."""
    try:
        arguments = _parser().parse_args(list(words))
    except SystemExit as end:
        return int(end.code or 0)
    if sys.platform != "linux":
        print("lang platform runner: a runner works on Linux only: start it on a Linux machine", file=sys.stderr)
        return 1
    from language.lifeline import follow_parent
    from runner.descriptors import raise_limit
    from runner.engines import EngineError
    from runner.main import FolderInUse, lock, serve
    from runner.settings import settings_from

    try:
        settings = settings_from(**vars(arguments))
        raise_limit()
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
    parser.add_argument(
        "--service", metavar="URL", help="address of the service, as this runner uses it (default: http://127.0.0.1:8787)"
    )
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help="file with the token that `lang platform runner-token` printed"
    )
    parser.add_argument("--id", metavar="ID", help="id of this runner, for which the token was made (default: runner)")
    parser.add_argument(
        "--engine",
        choices=["auto", "docker", "process", "swarm"],
        help="how programs are isolated (default: auto, the best engine that is available on this machine)",
    )
    parser.add_argument(
        "--base-url", metavar="URL", help="public address of the service, as browsers use it (default: that of --service)"
    )
    parser.add_argument(
        "--capacity-mb", metavar="MB", help="memory in MB for all programs together (default: three quarters of the machine's)"
    )
    return parser
