"""How many large answers an account, and all of them together, may have under way."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from platform_api.accounts.downloads import DOWNLOADS_AN_ACCOUNT, DOWNLOADS_IN_ALL, Downloads
from platform_api.refusals import Refusal


def test_a_few_accounts_do_not_take_every_place() -> None:
    async def asked() -> None:
        downloads = Downloads(limited=True)
        async with AsyncExitStack() as held:
            for number in range(DOWNLOADS_IN_ALL // 2 // DOWNLOADS_AN_ACCOUNT):
                for _ in range(DOWNLOADS_AN_ACCOUNT):
                    await held.enter_async_context(downloads.one(f"greedy-{number}"))
            for number in range(DOWNLOADS_IN_ALL // 2):
                await held.enter_async_context(downloads.one(f"other-{number}"))
                with pytest.raises(Refusal, match="Too many downloads"):
                    await held.enter_async_context(downloads.one(f"other-{number}"))
            with pytest.raises(Refusal, match="Too many downloads"):
                await held.enter_async_context(downloads.one("late"))
        assert not downloads.open
        async with downloads.one("late"):
            assert downloads.open == {"late": 1}

    asyncio.run(asked())


def test_without_limits_there_is_none() -> None:
    async def asked() -> None:
        downloads = Downloads(limited=False)
        async with AsyncExitStack() as held:
            for _ in range(DOWNLOADS_IN_ALL + 1):
                await held.enter_async_context(downloads.one("one"))

    asyncio.run(asked())
