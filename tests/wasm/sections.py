"""Imports and exports of a WebAssembly module, read from its bytes (WebAssembly Core 5.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

_KINDS = ("func", "table", "memory", "global", "tag")
_TYPES = {0x7F: "i32", 0x7E: "i64", 0x7D: "f32", 0x7C: "f64"}


class Module(NamedTuple):
    """``imports``: module, name, type; ``exports``: name to type. A function's type is its text, ``(i32, i32) -> (i32)``."""

    imports: list[tuple[str, str, str]]
    exports: dict[str, str]
    has_start: bool
    #: pages of the memory at the start, and the most there may be
    memory: tuple[int, int | None]
    custom: list[str]


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        """Unsigned LEB128."""
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def take(self, count: int) -> bytes:
        self.at += count
        return self.data[self.at - count : self.at]

    def name(self) -> str:
        return self.take(self.number()).decode("utf-8")

    def limits(self) -> tuple[int, int | None]:
        bounded = self.byte() & 1
        least = self.number()
        return least, self.number() if bounded else None


def _sections(data: bytes) -> Iterator[tuple[int, _Reader]]:
    assert data[:8] == b"\0asm\1\0\0\0"
    reader = _Reader(data)
    reader.at = 8
    while reader.at < len(data):
        identifier = reader.byte()
        yield identifier, _Reader(reader.take(reader.number()))


def read(data: bytes) -> Module:
    """What a module asks of its host and what it offers."""
    types: list[str] = []
    functions: list[str] = []
    imports: list[tuple[str, str, str]] = []
    exports: dict[str, str] = {}
    memory: tuple[int, int | None] = (0, None)
    has_start = False
    custom: list[str] = []
    for identifier, part in _sections(data):
        if identifier == 0:
            custom.append(part.name())
        elif identifier == 1:
            for _ in range(part.number()):
                assert part.byte() == 0x60
                given, found = ([_TYPES[part.byte()] for _ in range(part.number())] for _ in range(2))
                types.append(f"({', '.join(given)}) -> ({', '.join(found)})")
        elif identifier == 2:
            for _ in range(part.number()):
                module, name, kind = part.name(), part.name(), part.byte()
                assert kind == 0, "only functions are read here"
                functions.append(types[part.number()])
                imports.append((module, name, functions[-1]))
        elif identifier == 3:
            functions += [types[part.number()] for _ in range(part.number())]
        elif identifier == 5:
            assert part.number() == 1
            memory = part.limits()
        elif identifier == 7:
            for _ in range(part.number()):
                name, kind, index = part.name(), part.byte(), part.number()
                exports[name] = functions[index] if kind == 0 else _KINDS[kind]
        elif identifier == 8:
            has_start = True
    return Module(imports, exports, has_start, memory, custom)
