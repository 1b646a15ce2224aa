"""How long after a key an editor has the diagnostics: ``python tests/bench/editor_keys.py [--keys 60]``; needs pygls.

Starts ``lang lsp`` as an editor does, opens the largest example with the folder of examples around it, types into the middle of
a task, one key after the other, and waits each time for what the server says of that version. Prints the time of the whole way
and what of it the server's processor worked.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import time
from pathlib import Path
from typing import NamedTuple

from lsprotocol import types
from pygls.lsp.client import LanguageClient

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
TYPED = "\n    let found be length(items) + 1"


def largest() -> Path:
    """The example with the most lines."""
    return max(EXAMPLES.rglob("*.lang"), key=lambda path: path.read_text(encoding="utf-8").count("\n"))


def processor_seconds(process: int) -> float:
    """Processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Keys(NamedTuple):
    """What an editor waited, in milliseconds: from a key to its diagnostics, in the median and of 95 in 100 keys at most.
    ``work`` is the processor time of the server a key."""

    example: str
    lines: int
    median: float
    late: float
    work: float


def measured(keys: int) -> Keys:
    """Types so many keys into the largest example."""
    return asyncio.run(_measured(keys))


async def _measured(keys: int) -> Keys:
    path = largest()
    text = path.read_text(encoding="utf-8")
    client = LanguageClient("bench", "1")
    arrived: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(params: types.PublishDiagnosticsParams) -> None:
        arrived.put_nowait(params)

    await client.start_io(sys.executable, "-m", "language", "lsp")
    server = client._server
    assert server is not None
    await client.initialize_async(types.InitializeParams(types.ClientCapabilities(), root_uri=EXAMPLES.as_uri()))
    client.initialized(types.InitializedParams())
    uri = path.as_uri()

    async def told(version: int) -> None:
        while True:
            params = await arrived.get()
            if params.uri == uri and params.version == version:
                return

    client.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "lang", 0, text)))
    await told(0)
    lines = text.split("\n")
    line = next(number for number in range(len(lines) // 2, len(lines)) if lines[number].startswith("    "))
    at = types.Position(line, len(lines[line]))
    waits = []
    before = processor_seconds(server.pid)
    for version in range(1, keys + 1):
        key = TYPED[(version - 1) % len(TYPED)]
        change = types.TextDocumentContentChangePartial(types.Range(at, at), key)
        at = types.Position(at.line + 1, 0) if key == "\n" else types.Position(at.line, at.character + 1)
        started = time.perf_counter()
        identifier = types.VersionedTextDocumentIdentifier(version=version, uri=uri)
        client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [change]))
        await told(version)
        waits.append((time.perf_counter() - started) * 1000)
    work = (processor_seconds(server.pid) - before) / keys * 1000
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    waits.sort()
    example = path.relative_to(EXAMPLES).as_posix()
    return Keys(example, len(lines), statistics.median(waits), waits[int(keys * 0.95)], work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=60)
    keys = parser.parse_args().keys
    found = measured(keys)
    print(f"{found.example}, {found.lines} lines, {keys} keys, one after the other:")
    print(f"  from the key to its diagnostics: median {found.median:.0f} ms, 95 % {found.late:.0f} ms")
    print(f"  processor time of the server: {found.work:.0f} ms a key")


if __name__ == "__main__":
    main()
