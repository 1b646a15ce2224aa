"""``lang lsp`` as a process: what it negotiates, how it ends, what it says without its packages, what it never does."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = 'let face be ["😀é", upper("x")]\nwrite_file("made.txt", "run")\ntest "runs"\n    write_file("tested.txt", "run")\n'


def framed(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Session:
    """A server that is spoken to message by message, as the protocol writes them."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.number = 0

    def notify(self, method: str, params: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(framed({"method": method, "params": params}))

    async def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        head = await asyncio.wait_for(self.process.stdout.readuntil(b"\r\n\r\n"), 120)
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        message: dict[str, Any] = json.loads(await self.process.stdout.readexactly(length))
        return message

    async def ask(self, method: str, params: Any) -> Any:
        self.number += 1
        assert self.process.stdin is not None
        self.process.stdin.write(framed({"id": self.number, "method": method, "params": params}))
        while True:
            message = await self.read()
            if message.get("id") == self.number and "method" not in message:
                return message.get("result", message.get("error"))


async def start(folder: Path, encodings: list[str] | None) -> tuple[Session, dict[str, Any]]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "language", "lsp"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    session = Session(process)
    general = {"positionEncodings": encodings} if encodings else {}
    given = {"processId": None, "rootUri": folder.as_uri(), "capabilities": {"general": general}}
    answer = await session.ask("initialize", given)
    session.notify("initialized", {})
    return session, answer["capabilities"]


@pytest.mark.parametrize(
    ("offered", "agreed", "column"), [(None, "utf-16", 20), (["utf-8", "utf-16"], "utf-8", 23), (["utf-32"], "utf-32", 19)]
)
def test_columns_are_counted_in_the_encoding_that_was_agreed(
    tmp_path: Path, offered: list[str] | None, agreed: str, column: int
) -> None:
    """The hover over a name behind an emoji, and the range of the name; the program is never run."""

    async def check() -> None:
        session, capabilities = await start(tmp_path, offered)
        assert capabilities["positionEncoding"] == agreed
        uri = (tmp_path / "main.lang").as_uri()
        opened = {"uri": uri, "languageId": "lang", "version": 1, "text": PROGRAM}
        session.notify("textDocument/didOpen", {"textDocument": opened})
        at = PROGRAM.index("upper")
        codec, size = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}[agreed]
        assert len(PROGRAM[:at].encode(codec)) // size == column
        place = {"line": 0, "character": column}
        shown = await session.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
        assert shown["contents"]["value"].startswith("```lang\nupper(")
        assert shown["range"] == {"start": place, "end": {"line": 0, "character": column + len("upper")}}
        # one character typed before the name, in place of the emoji
        start_of_text = len(PROGRAM[: PROGRAM.index("😀")].encode(codec)) // size
        end_of_emoji = len(PROGRAM[: PROGRAM.index("é")].encode(codec)) // size
        span = {"start": {"line": 0, "character": start_of_text}, "end": {"line": 0, "character": end_of_emoji}}
        change = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"range": span, "text": "x"}]}
        session.notify("textDocument/didChange", change)
        moved = {"line": 0, "character": column - (end_of_emoji - start_of_text) + 1}
        shown = await session.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": moved})
        assert shown["range"]["start"] == moved
        assert await session.ask("shutdown", None) is None
        session.notify("exit", None)
        assert await asyncio.wait_for(session.process.wait(), 120) == 0

    asyncio.run(check())
    assert list(tmp_path.iterdir()) == []


def test_an_editor_that_goes_away_ends_the_server(tmp_path: Path) -> None:
    async def check() -> int:
        session, _ = await start(tmp_path, None)
        assert session.process.stdin is not None
        session.process.stdin.close()
        return await asyncio.wait_for(session.process.wait(), 120)

    assert asyncio.run(check()) == 1


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['pygls'] = None; from language.cli.main import main; sys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "lang lsp: the package pygls is not installed: pip install 'ceiling-lang[lsp]'\n"


def test_every_request_is_answered_also_one_that_is_wrong(tmp_path: Path) -> None:
    async def check() -> None:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "language", "lsp"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=tmp_path,
        )
        session = Session(process)
        hover = {"textDocument": {"uri": (tmp_path / "a.lang").as_uri()}, "position": {"line": 0, "character": 0}}
        assert (await session.ask("textDocument/hover", hover))["code"] == -32002
        await session.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        session.notify("initialized", {})
        session.notify("made/up", {"any": "thing"})
        session.notify("$/made", {})
        assert (await session.ask("textDocument/hover", {}))["code"] == -32602
        negative = {**hover, "position": {"line": -1, "character": -5}}
        answer = await session.ask("textDocument/hover", negative)
        assert answer is None or answer["code"] == -32602
        assert (await session.ask("$/made", {}))["code"] == -32601
        assert await session.ask("textDocument/hover", hover) is None
        await session.ask("shutdown", None)
        assert (await session.ask("textDocument/hover", hover))["code"] == -32600
        session.notify("exit", None)
        assert await process.wait() == 0

    asyncio.run(check())
