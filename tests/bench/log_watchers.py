"""Follows the log of a project with many connections: prints ``open``, then for each line the moment when the last one had it.

    python tests/bench/log_watchers.py PORT TOKEN PROJECT COUNT

A line of the log that is to be timed is a number. Ends when its standard input does.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter

AT_A_TIME = 50


async def watch(port: int, token: str, project: str, count: int) -> None:
    asked = f"GET /api/v1/projects/{project}/logs?tail=0 HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
    request = f"{asked}Authorization: Bearer {token}\r\n\r\n".encode()
    places = asyncio.Semaphore(AT_A_TIME)
    arrived: Counter[str] = Counter()
    opened = 0
    all_open = asyncio.Event()

    async def one() -> None:
        nonlocal opened
        async with places:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            status = await reader.readline()
            if b" 200 " not in status:
                raise SystemExit(f"a stream was answered {status!r}")
            await reader.readuntil(b":\n\n")
        opened += 1
        if opened == count:
            all_open.set()
        while line := await reader.readline():
            if not line.startswith(b"data: "):
                continue
            number = json.loads(line[6:])["line"]
            arrived[number] += 1
            if arrived[number] == count:
                print(number, time.monotonic(), flush=True)

    streams = [asyncio.ensure_future(one()) for _ in range(count)]
    await all_open.wait()
    print("open", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for stream in streams:
        stream.cancel()
    await asyncio.gather(*streams, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(watch(int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])))
