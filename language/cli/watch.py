"""``lang test --watch``: runs the tests again after every change, until Ctrl-C."""

from __future__ import annotations

import os
import time

from language.cli.arguments import UsageError
from language.cli.capability_changes import WatchedManifests
from language.cli.program_files import below
from language.cli.streams import err

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: Seconds between two checks of the files.
SECONDS_BETWEEN_LOOKS = 0.5
#: Seconds without a change after which a file counts as written completely.
SECONDS_TO_SETTLE = 0.1

Stamps = dict[str, tuple[int, int]]


def watch(run: Callable[[], int], files: Callable[[], list[str]]) -> int:
    """Calls ``run`` now and after every change of a program below the folders of ``files``. Ends with ``KeyboardInterrupt``.

    Changes of the capabilities of a program are printed before it runs.
    """
    manifests = WatchedManifests("test", files)
    while True:
        before = stamps(files)
        manifests.look()
        try:
            run()
        except UsageError as error:  # a file has been deleted; it may come back
            err(f"lang test: {error.message}")
        err("[lang] watching for changes; Ctrl-C ends")
        while (now := stamps(files)) == before:
            time.sleep(SECONDS_BETWEEN_LOOKS)
        while now != before:  # an editor may still be writing: wait until nothing changes any more
            before = now
            time.sleep(SECONDS_TO_SETTLE)
            now = stamps(files)


def stamps(files: Callable[[], list[str]]) -> Stamps:
    """The time of the last change, in nanoseconds, and the size of each program below the folders of ``files``."""
    try:
        named = files()
    except UsageError:
        named = []
    # Modules lie below the folder of the program that imports them.
    folders = {os.path.dirname(file) or "." for file in named}
    watched = {*named, *(file for folder in folders for file in below(folder))}
    stamps = {}
    for file in watched:
        try:
            info = os.stat(file)
        except OSError:
            continue
        stamps[file] = (info.st_mtime_ns, info.st_size)
    return stamps
