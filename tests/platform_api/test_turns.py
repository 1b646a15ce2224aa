"""Work that takes long has turns: one at a time an account, few at a time in all, and nothing else waits for it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from platform_api.refusals import Refusal
from platform_api.turns import Turns

PATIENCE = 60


def test_an_account_has_one_turn_at_a_time_and_room_for_some() -> None:
    async def all_of_it() -> None:
        turns = Turns("test", 2, 3, "Too much of this account waits.", 7)
        begun, goes_on = threading.Semaphore(0), threading.Event()
        under_way: list[str] = []

        def work(name: str) -> str:
            under_way.append(name)
            begun.release()
            assert goes_on.wait(PATIENCE)
            return name

        def asked(account: str, name: str) -> asyncio.Task[str]:
            return asyncio.ensure_future(turns.take(account, lambda: work(name)))

        first = [asked("a", f"a{number}") for number in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Refusal, match="Too much of this account waits") as refused:
            await turns.take("a", lambda: work("a3"))
        assert refused.value.code == "rate_limited" and refused.value.retry_after == 7
        other = [asked("b", "b0"), asked("c", "c0")]
        for _ in range(2):
            assert await asyncio.to_thread(begun.acquire, timeout=PATIENCE), "the threads of the event loop are free"
        assert sorted(under_way) == ["a0", "b0"]
        goes_on.set()
        assert await asyncio.gather(*first, *other) == ["a0", "a1", "a2", "b0", "c0"]
        assert await turns.take("a", lambda: work("a4")) == "a4", "there is room again"
        turns.close()

    asyncio.run(all_of_it())
