"""What a started command is to its tests: how long it may take, what came out of it, the files it finds."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 60


class Result:
    """What came out of a process."""

    def __init__(self, done: subprocess.CompletedProcess[bytes]) -> None:
        self.out = done.stdout.decode("utf-8")
        self.err = done.stderr.decode("utf-8")
        self.code = done.returncode

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def told(self) -> list[str]:
        """The lines of the error stream without what stands below the first line of an error."""
        lines = []
        below = False
        for line in self.err.splitlines():
            if not below:
                lines.append(line)
            below = (below or " error: " in line) and not line.startswith("more: lang docs ")
        return lines

    def __repr__(self) -> str:
        return f"exit {self.code}\nstdout:\n{self.out}\nstderr:\n{self.err}"


#: The fixture ``lang``: runs the command with these words.
Lang = Callable[..., Result]


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
