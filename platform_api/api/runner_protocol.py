"""The routes that runners use. Their tokens are those of runners, their bodies those of ``runner.protocol``."""

from __future__ import annotations

import asyncio
import base64
import time
from typing import TypeVar

from litestar import Response, Router, get, post
from litestar.params import FromPath

from platform_api.api.large_answers import in_a_thread
from platform_api.api.requests import ApiRequest
from platform_api.moments import now, rfc3339_or_none
from platform_api.packages.package import Package
from platform_api.packages.storage import load_package
from platform_api.refusals import Refusal
from platform_api.runners.packages import refuse_foreign_package
from platform_api.runners.polling import changes_since, is_news, position
from platform_api.runners.registry import arrived, is_here, row_of, runner_of, status_record
from platform_api.runners.reporting import take_report
from runner.protocol import (
    LONGEST_WAIT,
    PREFIX,
    FileContent,
    PackageAnswer,
    PollRequest,
    ProtocolError,
    ReportRequest,
    dumps,
    loads,
)

R = TypeVar("R")


@post("/poll", status_code=200, include_in_schema=False)
async def poll(request: ApiRequest) -> Response[bytes]:
    """What changed for the runner since its cursor; waits for something to change."""
    runner_id = await _runner(request)
    asked = await _read(request, PollRequest)
    if asked.runner.id != runner_id:
        raise Refusal("forbidden", f"This token was made for the runner {runner_id!r}, not {asked.runner.id!r}.")
    since = position(asked.cursor)
    platform = request.platform
    main = platform.store.main
    end = time.monotonic() + max(0, min(asked.wait, LONGEST_WAIT))
    with platform.changes.subscribe(f"runner:{runner_id}") as changes:
        await main.write(arrived, asked.runner)
        read = main.scan if since is None else main.read  # everything there is may be much
        while True:
            answer = await read(changes_since, platform.keys, platform.plans, platform.settings, runner_id, since)
            left = end - time.monotonic()
            if since is None or is_news(answer) or left <= 0 or platform.changes.closed:
                return _answer(answer)
            await changes.next(left)


@post("/report", status_code=200, include_in_schema=False)
async def report(request: ApiRequest) -> Response[bytes]:
    """Stores what the runner has seen and says up to where."""
    runner_id = await _runner(request)
    asked = await _read(request, ReportRequest)
    return _answer(await asyncio.to_thread(take_report, request.platform.store, runner_id, asked))


@get("/packages/{package_hash:str}", include_in_schema=False)
async def package(request: ApiRequest, package_hash: FromPath[str]) -> Response[bytes]:
    """The files of a package that a deploy of the runner's projects has."""
    runner_id = await _runner(request)
    main = request.platform.store.main
    await main.read(refuse_foreign_package, runner_id, package_hash)
    found = await main.scan(load_package, package_hash)
    return Response(await in_a_thread(_package, package_hash, found), media_type="application/json")


@get("/status", include_in_schema=False)
async def status(request: ApiRequest) -> Response[dict[str, object]]:
    """What the service knows of the runner: which isolation it enforces, what it can hold."""
    runner_id = await _runner(request)
    row = await request.platform.store.main.read(row_of, runner_id)
    shown = {"id": row.id, "connected": is_here(row, now()), "seen_at": rfc3339_or_none(row.seen_at), **status_record(row)}
    return Response(shown, media_type="application/json")


async def _runner(request: ApiRequest) -> str:
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        raise Refusal("unauthorized", "This needs the header `Authorization: Bearer <runner token>`.")
    return await request.platform.store.main.read(runner_of, token.strip())


async def _read(request: ApiRequest, record: type[R]) -> R:
    try:
        return loads(record, await request.body())
    except ProtocolError as error:
        raise Refusal("validation", f"{error}.") from None


def _answer(record: object) -> Response[bytes]:
    return Response(dumps(record), media_type="application/json")


def _package(package_hash: str, found: Package) -> bytes:
    files = [
        FileContent(path=file.path, content=base64.b64encode(file.content).decode(), encoding=file.encoding)
        for file in found.files
    ]
    return dumps(PackageAnswer(hash=package_hash, files=tuple(files)))


router = Router(path=PREFIX, route_handlers=[poll, report, package, status], request_class=ApiRequest)
