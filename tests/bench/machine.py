"""Names the machine and the interpreter a measurement was made on."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def description() -> str:
    """One line: processor, cores, interpreter, system."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{cpu_model()}, {cores()} cores, {python}, {platform.system()} {platform.release()} ({sys.platform})"
