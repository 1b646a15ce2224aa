"""The environment of a build: its folders, and running commands, whose output is shown only if they fail."""

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
    """The build cannot continue; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """``store`` is the folder of fetched files, ``work`` that of built files, which may be deleted; ``jobs`` is the number of
    parallel jobs.

    With ``asks_configure`` the recorded results of configure are not used.
    """

    store: Path
    work: Path
    jobs: int
    asks_configure: bool = False

    def folder(self, *names: str) -> Path:
        """A folder below ``work``, created if it does not exist."""
        path = self.work.joinpath(*names)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """The few environment variables that commands need, and those that make the products reproducible."""
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
        """Runs a command and returns its standard output. If it fails, raises ``BuildFailed`` with the end of its output."""
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
    """Prints one line about the progress, with the seconds since the start."""
    print(f"[{time.monotonic() - _started:5.0f} s] {text}", file=sys.stderr, flush=True)


def digest(path: Path) -> str:
    """The SHA-256 of a file as 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def key_of(*parts: object) -> str:
    """A short hash of the inputs that determine the content of a folder; files count by their bytes."""
    whole = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        whole.update(len(data).to_bytes(8, "little") + data)
    return whole.hexdigest()[:16]
