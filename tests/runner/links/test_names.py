"""Names that nobody answers for keep those who asked waiting, and nobody else."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from runner.links import Names
from runner.links.names import MOST_QUESTIONS

FOUND = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 80)), (socket.AF_INET, 0, 6, "", ("192.0.2.1", 80))]


def test_questions_that_the_system_is_busy_with_count_until_it_is_done() -> None:
    """However many are given up meanwhile: a project asks for a name of its own, again and again."""
    go_on = threading.Event()
    asked: list[str] = []

    def never(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        go_on.wait(60)
        return FOUND

    async def body() -> None:
        mine, others = Names(never), Names(lambda *_, **__: FOUND)
        for _ in range(5):
            questions = [asyncio.create_task(mine(f"h{number}.example", 80)) for number in range(10)]
            while len(asked) < MOST_QUESTIONS:
                await asyncio.sleep(0.01)
            for question in questions:
                question.cancel()
            await asyncio.gather(*questions, return_exceptions=True)
        assert len(asked) == MOST_QUESTIONS
        assert await others("other.example", 80) == ["192.0.2.1"]
        assert await asyncio.to_thread(lambda: "files are written by other threads")
        waiting = asyncio.create_task(mine("last.example", 80))
        go_on.set()
        assert await waiting == ["192.0.2.1"]
        assert asked[-1] == "last.example"

    asyncio.run(body())


def test_what_cannot_be_asked_gives_its_place_back() -> None:
    async def body() -> None:
        names = Names()
        for _ in range(MOST_QUESTIONS + 1):
            with pytest.raises((OSError, UnicodeError)):
                await names(f"{'a' * 70}.example", 80)
        assert await names("127.0.0.1", 80) == ["127.0.0.1"]

    asyncio.run(body())
