"""A process that writes numbered rows to an SQLite file until it is told to stop, and says which of them are committed.

    write_ahead_writer.py FILE NAME ACKNOWLEDGED STOP

Each commit is followed by its number on a line of ACKNOWLEDGED. It ends when the file STOP is there.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from platform_api.store import write_ahead_log
from platform_api.store.database import Database

write_ahead_log.CHECKPOINT_BYTES = 64 * 1024  # the log begins anew hundreds of times a second


def main(file: str, name: str, acknowledged: str, stop: str) -> None:
    database = Database(Path(file))
    said = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    number = 0
    while not os.path.exists(stop):
        number += 1
        with database.writing() as connection:
            connection.exec_driver_sql("INSERT INTO rows VALUES (?, ?, ?)", (name, number, "x" * (number % 7 * 600)))
        os.write(said, f"{number}\n".encode())
        if number % 50 == 0:
            with database.reading() as connection:
                found = connection.exec_driver_sql("SELECT count(*) FROM rows WHERE name = ?", (name,)).scalar_one()
            assert found == number, f"{name} has committed {number} rows and finds {found}"
    database.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
