"""How a runner asks the service what is wanted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from runner_process import short_folder

from runner import service
from runner.main import POLL_SECONDS, Runner
from runner.protocol import PollAnswer, dumps
from runner.settings import settings_from


def test_a_service_that_was_away_is_asked_whether_it_is_back_without_waiting_for_news(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it has answered, lines, records and gates wait: they would wait for as long as nothing is new."""
    monkeypatch.setattr(service, "FIRST_PAUSE", 0.001)
    waits: list[int] = []
    enough = asyncio.Event()

    def answer(request: httpx.Request) -> httpx.Response:
        waits.append(json.loads(request.content)["wait"])
        if len(waits) == 5:
            enough.set()
        if len(waits) in (3, 4):
            return httpx.Response(503)
        told: Any = PollAnswer(projects=(), runs=(), decisions=(), cursor="1")
        return httpx.Response(200, content=dumps(told))

    async def story(folder: Path) -> None:
        runner = Runner(settings_from({"PLATFORM_RUNNER_TOKEN": "lr_x"}, engine="process", data=folder))
        await runner.service._client.aclose()
        runner.service._client = httpx.AsyncClient(base_url="http://service", transport=httpx.MockTransport(answer))
        polling = asyncio.create_task(runner._poll())
        await asyncio.wait_for(enough.wait(), 60)
        polling.cancel()
        await asyncio.gather(polling, return_exceptions=True)
        assert waits[:5] == [0, POLL_SECONDS, POLL_SECONDS, 0, 0]
        await runner.service.close()
        runner.spool.close()
        await runner.engine.close()

    with short_folder() as folder:
        asyncio.run(story(folder))
