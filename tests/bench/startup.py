"""What a whole process costs: `lang run hello.lang` with a warm cache against `python -c pass`.

python tests/bench/startup.py [--rounds N]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from command import measured_alone
from engines import REPOSITORY
from timing import WALL, interleaved, ratio, table

HELLO = REPOSITORY / "examples" / "hello.lang"
# What the installed console script does, for a checkout that is not installed.
SCRIPT = "import sys; from language.cli.main import main; sys.exit(main())"


def lang_command() -> list[str]:
    """The installed command beside this interpreter, else the same thing through `python -c`."""
    installed = Path(sys.executable).with_name("lang")
    return [str(installed)] if installed.exists() else [sys.executable, "-c", SCRIPT]


def process(command: list[str]) -> str:
    """Runs a command to its end; its standard output."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    # A warm start has its modules' byte code, as an installed package does.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if finished.returncode != 0:
        raise SystemExit(f"{command}: exit {finished.returncode}\n{finished.stderr}")
    return finished.stdout


def measure(rounds: int) -> str:
    """The table of process times in milliseconds."""
    lang = lang_command()
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c print": [sys.executable, "-c", "print('Hello, world')"],
        "lang run hello.lang": [*lang, "run", str(HELLO)],
        "lang version": [*lang, "version"],
    }
    runs = {name: lambda command=command: process(command) for name, command in commands.items()}
    timings = interleaved(runs, rounds, WALL)
    if timings["lang run hello.lang"].result != "Hello, world\n":
        raise SystemExit(f"hello.lang printed {timings['lang run hello.lang'].result!r}")
    reference = timings["python -c pass"]
    return table(
        ["process", "best ms", "median ms", "/ python -c pass"],
        [
            [name, f"{timing.best * 1000:.1f}", f"{timing.median * 1000:.1f}", f"{ratio(timing, reference):.2f}"]
            for name, timing in timings.items()
        ],
    )


if __name__ == "__main__":
    measured_alone(__doc__, measure, 25)
