"""What a call of a language model costs beside a plain client of httpx, with a provider on this machine that answers at once.

python tests/bench/models.py [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from statistics import median
from time import monotonic, perf_counter, sleep

from engines import REPOSITORY
from machine import description
from timing import WALL, interleaved, table

sys.path.insert(0, str(REPOSITORY))

CALLS = 100
CHUNKS = 200
TOGETHER = 64
#: At most this many milliseconds more than the plain client.
CALLING_GOAL = 1.0
#: At most this many milliseconds from the arrival of a fragment to the task that is called with it.
CHUNK_GOAL = 2.0
#: Calls at once, each of which the provider takes ``WAIT`` seconds for, take at most this many times as long.
TOGETHER_GOAL = 1.3
WAIT = 1.0


def measure(rounds: int, wait: float = WAIT) -> str:
    """The table: what was measured, the goal, and the figure."""
    given = dict(os.environ)
    try:
        for name in [name for name in os.environ if name.startswith("PLATFORM_LLM_") or name.endswith("_API_KEY")]:
            del os.environ[name]
        rows = [calling(rounds), chunks(), together(wait)]
    finally:
        os.environ.clear()
        os.environ.update(given)
    return table(["models", "measured", "goal"], rows)


def calling(rounds: int) -> list[str]:
    """A call and the same request by httpx, both over a connection that is kept."""
    import httpx

    from language.host.llm import converse
    from language.models.conversation import ChatMessage, ModelRequest
    from language.native.host import NativeHost
    from language.runtime.context import Context
    from tests.models.provider_peer import Turn, serving

    peer = serving("chat", [Turn(("ok",))], PLATFORM_LLM_HTTP_STREAM="0")
    request = ModelRequest((ChatMessage("user", "Hello?"),))
    with peer.server, httpx.Client() as client:
        context = Context(NativeHost(peer.settings), recorded=False)
        converse(context, request)
        body, url = peer.bodies[0], peer.server.url + "/chat/completions"
        headers = {"Authorization": "Bearer " + peer.settings["OPENAI_API_KEY"]}

        def plain() -> object:
            return [client.post(url, json=body, headers=headers).json()["choices"][0]["message"] for _ in range(CALLS)][-1]

        def ours() -> object:
            return [converse(context, request).text for _ in range(CALLS)][-1]

        found = interleaved({"httpx": plain, "ours": ours}, rounds, WALL)
    more = median(mine - theirs for mine, theirs in zip(found["ours"].seconds, found["httpx"].seconds, strict=True))
    return ["a call, beside httpx", f"{more * 1000 / CALLS:+.2f} ms", f"{CALLING_GOAL:g} ms"]


def chunks() -> list[str]:
    """From the moment in which the provider sends a fragment to the call of the task: nine of ten are faster."""
    from language.host.llm import converse
    from language.models.conversation import ChatMessage, ModelRequest
    from language.native.host import NativeHost
    from language.runtime.context import Context
    from tests.models.provider_peer import chunked, head, serving

    def send(connection: socket.socket) -> None:
        connection.sendall(head("chat"))
        for _ in range(CHUNKS):
            data = {"choices": [{"delta": {"content": f"{monotonic():.6f} "}}]}
            connection.sendall(chunked(f"data: {json.dumps(data)}\n\n".encode()))
            sleep(0.001)
        connection.sendall(
            chunked(b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n') + b"0\r\n\r\n"
        )

    taken: list[float] = []
    peer = serving("chat", [send])
    with peer.server:
        request = ModelRequest((ChatMessage("user", "Hello?"),))
        converse(Context(NativeHost(peer.settings)), request, lambda text: taken.append(monotonic() - float(text)))
    late = sorted(taken)[len(taken) * 9 // 10]
    return ["a fragment, from the wire to the task", f"{late * 1000:.2f} ms", f"{CHUNK_GOAL:g} ms"]


def together(wait: float) -> list[str]:
    """Calls of a program at the same time, each of which takes a while."""
    import language
    from tests.models.provider_peer import Turn, serving, whole

    def slow(connection: socket.socket) -> None:
        sleep(wait)
        connection.sendall(whole("chat", Turn(("ok",))))

    peer = serving("chat", [slow], PLATFORM_LLM_HTTP_STREAM="0")
    source = (
        f"require llm\ntask ask(n)\n    give reason about n\nprint(length(parallel_map(ask, range(0, {TOGETHER}), {TOGETHER})))"
    )
    with peer.server:
        language.run(source, host=language.NativeHost({"PLATFORM_LLM_PROVIDER": "mock"}))  # loads the parser and its like
        began = perf_counter()
        answer = language.run(source, host=language.NativeHost(peer.settings))
        taken = perf_counter() - began
    assert answer["output"] == [str(TOGETHER)], answer
    return [f"{TOGETHER} calls at once of {wait:g} s", f"{taken:.2f} s", f"{TOGETHER_GOAL * wait:g} s"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    print(description())
    print(measure(parser.parse_args().rounds))
