"""The progress of tasks in the SQLite file of a memory."""

from __future__ import annotations

from language.host.progress import Step, no_step, no_task

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any, TypeVar

    Answer = TypeVar("Answer")

_COLUMNS = "step_name, status, started_at, finished_at, result, error, retries"


class StoredProgress:
    """The part of a memory store that keeps progress. The steps of a task are in the order of their row ids."""

    def create_progress(self, task: str, steps: list[str], source: str, now: float) -> None:
        def act(connection: sqlite3.Connection) -> None:
            kept = _steps(connection, task)
            if kept is not None and not all(step.is_over for step in kept):
                return
            connection.execute("DELETE FROM progress WHERE task_name = ?", (task,))
            connection.execute("DELETE FROM progress_task WHERE name = ?", (task,))
            connection.execute("INSERT INTO progress_task (name, created_at, source) VALUES (?, ?, ?)", (task, now, source))
            connection.executemany(
                "INSERT INTO progress (task_name, step_name, status, metadata, retries) VALUES (?, ?, 'pending', '{}', 0)",
                [(task, step) for step in steps],
            )

        self._change(act)

    def steps(self, task: str) -> list[Step] | None:
        if not self._read("SELECT 1 FROM progress_task WHERE name = ?", (task,)):
            return None
        return [
            Step(*row) for row in self._read(f"SELECT {_COLUMNS} FROM progress WHERE task_name = ? ORDER BY rowid", (task,))
        ]

    def change_step(self, task: str, step: str, change: Callable[[Step], None]) -> None:
        def act(connection: sqlite3.Connection) -> None:
            kept = _steps(connection, task)
            if kept is None:
                raise no_task(task)
            for one in kept:
                if one.name == step:
                    change(one)
                    connection.execute(
                        "UPDATE progress SET status = ?, started_at = ?, finished_at = ?, result = ?, error = ?, retries = ? "
                        "WHERE task_name = ? AND step_name = ?",
                        (one.status, one.started, one.finished, one.result, one.error, one.retries, task, step),
                    )
                    return
            raise no_step(task, step)

        self._change(act)

    # ---- of the store ---------------------------------------------------------------------------------------------------

    def _read(self, text: str, values: tuple[Any, ...] = ()) -> list[Any]:
        raise NotImplementedError

    def _change(self, act: Callable[[sqlite3.Connection], Answer]) -> Answer:
        raise NotImplementedError


def _steps(connection: sqlite3.Connection, task: str) -> list[Step] | None:
    if connection.execute("SELECT 1 FROM progress_task WHERE name = ?", (task,)).fetchone() is None:
        return None
    rows = connection.execute(f"SELECT {_COLUMNS} FROM progress WHERE task_name = ? ORDER BY rowid", (task,))
    return [Step(*row) for row in rows]
