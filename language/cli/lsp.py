"""``lang lsp``: the language server, for an editor that started it."""

from __future__ import annotations

from language.cli.arguments import LSP, UsageError, clean, parse
from language.cli.streams import err

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def command(words: Sequence[str]) -> int:
    arguments = parse("lsp", words, LSP)
    others = arguments.paths + arguments.rest
    if others:
        raise UsageError("lsp", f"takes no file, because the editor names them, got '{clean(others[0])}'")
    try:
        from language.lsp.server import serve
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "language":
            raise
        err(f"lang lsp: the package {package} is not installed: pip install 'ceiling-lang[lsp]'")
        return 1
    return serve()
