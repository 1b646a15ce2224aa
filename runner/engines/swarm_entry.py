"""The first thing that runs in a task of the engine ``swarm``: started as a script, it becomes the program.

What services of Docker Swarm have no setting for is done here, before anything of the program runs: the process can gain no
privileges (older daemons), and it goes before what serves all programs when the machine is out of memory. The secret of the
link is read from the file that Swarm mounts; it stands in no setting that ``docker inspect`` shows.
"""

from __future__ import annotations

import ctypes
import os
import sys

SECRET_FILE = "/run/secrets/link"
#: As ``language.cli.linked`` reads it.
SECRET = "PLATFORM_HOST_LINK_SECRET"
_NO_NEW_PRIVILEGES = 38


def main() -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "privileges could be gained")
    try:
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("500")
    except OSError:
        pass  # a daemon may forbid it
    try:
        with open(SECRET_FILE, encoding="ascii") as file:
            os.environ[SECRET] = file.read()
    except FileNotFoundError:
        pass  # this one has no link
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
