"""The runner as a process, and a folder for it whose path is short enough for sockets."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from language.lifeline import Lifeline

ROOT = Path(__file__).resolve().parent.parent.parent
#: Runners end with the process of the tests, also where that is killed.
_HELD = Lifeline()


class RunnerProcess:
    """``lang platform runner``.

    Args:
        folder: its data; what it says to its operator is appended to ``said`` in there.
        surroundings: more variables.
        engine: what its programs run in.
    """

    def __init__(
        self,
        url: str,
        token: str,
        runner_id: str,
        folder: Path,
        surroundings: dict[str, str] | None = None,
        *,
        engine: str = "process",
    ) -> None:
        self.folder = folder
        words = [sys.executable, "-m", "language", "platform", "runner", "--engine", engine]
        words += ["--data", str(folder), "--service", url, "--id", runner_id, "--capacity-mb", "65536"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORM_")}
        variables = {**kept, "PYTHONPATH": str(ROOT), "PLATFORM_RUNNER_TOKEN": token, **(surroundings or {})}
        with open(folder / "said", "ab") as said:
            self.process = subprocess.Popen(
                words,
                env=variables | _HELD.environment(),
                stderr=said,
                start_new_session=True,
                pass_fds=(_HELD.descriptor,),
            )

    @property
    def said(self) -> str:
        """What it said to its operator."""
        return (self.folder / "said").read_text(encoding="utf-8", errors="replace")

    def kill(self) -> None:
        """Ends it at once, without a word to anybody."""
        self.process.kill()
        self.process.wait()

    def stop(self, seconds: float = 120) -> int:
        """Ends it in order."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A new folder for tests that make sockets in it."""
    folder = Path(tempfile.mkdtemp(prefix="lr"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
