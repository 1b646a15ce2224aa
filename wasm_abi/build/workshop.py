"""Where a build works: its folders, and commands whose output is shown only when they fail."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from wasm_abi.build.pins import EPOCH

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
C_SOURCES = ROOT / "wasm_abi" / "c"


class BuildFailed(Exception):
    """The build cannot go on; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """``store`` keeps what is fetched, ``work`` what is made of it and may be thrown away; ``jobs`` run at once.

    With ``asks_configure`` nothing is taken from the recorded answers of configure.
    """

    store: Path
    work: Path
    jobs: int
    asks_configure: bool = False

    def folder(self, *names: str) -> Path:
        """A folder below ``work``, made when it is not there."""
        path = self.work.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The little of the environment that commands need, and what keeps their products the same everywhere."""
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.lower().endswith("_proxy")}
        return {
            **kept,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SOURCE_DATE_EPOCH": str(EPOCH),
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "ZIG_GLOBAL_CACHE_DIR": str(self.folder("zig-cache")),
            "ZIG_LOCAL_CACHE_DIR": str(self.folder("zig-cache")),
            **(extra or {}),
        }

    def run(self, command: Sequence[str | Path], *, cwd: Path | None = None, extra: Mapping[str, str] | None = None) -> str:
        """What a command writes to standard output. Raises ``BuildFailed`` with the end of all that it wrote."""
        words = [str(word) for word in command]
        done = subprocess.run(
            words, cwd=cwd or self.work, env=self.environment(extra), capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stdout + done.stderr).splitlines()[-60:]
            raise BuildFailed(f"{' '.join(words)[:400]} failed with {done.returncode}:\n" + "\n".join(said))
        return done.stdout


_KEPT = ("PATH", "HOME", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "NPM_CONFIG_REGISTRY")

_started = time.monotonic()


def tell(text: str) -> None:
    """One line about the progress, with the seconds since the start."""
    print(f"[{time.monotonic() - _started:5.0f} s] {text}", file=sys.stderr, flush=True)


def digest(path: Path) -> str:
    """The SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_of(*parts: object) -> str:
    """A short name for everything that decides the content of a folder; files count by their bytes."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:16]
