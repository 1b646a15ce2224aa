"""A program with its files in a folder of the disk, run in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from language.capabilities import Ceiling
from language.compiler.compilation import compile_source
from language.native.host import NativeHost
from language.runtime.context import Context
from language.runtime.instance import Instance


class Site:
    """``run`` executes a source as if it were ``main.lang`` in the folder and answers its lines."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.audit: list[dict[str, Any]] = []

    def write(self, path: str, text: str | bytes) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode() if isinstance(text, str) else text)
        return file

    def run(
        self, source: str, *, name: str | None = None, ceiling: Ceiling | None = None, deny: str | None = None
    ) -> list[str]:
        """``name`` is that of the program as errors show it. Raises what the program raises."""
        file = str(self.folder / "main.lang") if name is None else name
        context = Context(NativeHost(), collect=True, ceiling=ceiling)
        if deny is not None:
            context.capabilities.deny("file.read", deny)
        instance = Instance(compile_source(source, file).named(file), context.host, context=context)
        try:
            instance.run()
        finally:
            self.audit = context.capabilities.records
        return context.collected

    def error(self, source: str, **options: Any) -> str:
        """The message of the error that ends a program."""
        lines = self.run(
            "try\n    " + "\n    ".join(source.splitlines()) + '\nrecover e\n    print("error: " + e)\n', **options
        )
        assert lines[-1].startswith("error: "), lines
        return lines[-1].removeprefix("error: ")

    def page(self, path: str, data: str = "{}") -> str:
        """The text of a page that the program names by a literal."""
        return "\n".join(self.run(f"print(body of render({path!r}, {data}))".replace("'", '"')))
