"""Compiles a program through the cache and makes its instance on the host of the command."""

from __future__ import annotations

import gc

from language.cache import compile_cached
from language.capabilities import IMPLICIT
from language.cli.source import not_utf8
from language.runtime.context import Context
from language.runtime.instance import Instance

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from language.capabilities import Ceiling
    from language.cli.arguments import Arguments
    from language.cli.audit_stream import AuditStream
    from language.cli.learn import Lesson
    from language.cli.source import Source
    from language.code import Code
    from language.host import Host


def compile_program(source: Source, command: str, *, test: bool = False) -> Code:
    """The compiled program. Raises ``UsageError`` for a source that is not UTF-8, ``LanguageError`` for one with errors."""
    try:
        return compile_cached(source.data, source.name, test=test)
    except UnicodeDecodeError:
        raise not_utf8(source.name, command) from None


def make_instance(
    code: Code,
    source: Source,
    host: Host,
    *,
    mode: str,
    ceiling: Ceiling | None,
    arguments: tuple[str, ...] = (),
    collect: bool = False,
    flags: Arguments,
    stream: AuditStream | Lesson | None,
    implicit: tuple[str, ...] = IMPLICIT,
) -> Instance:
    """An instance for one run of the program. Its modules are read from the folder of its file, through the cache.

    Decisions about capabilities are recorded in ``stream``, in mode ``embedded`` also for the report; otherwise they are not
    recorded. ``flags`` say which files of the command the program may not touch.
    """
    if not gc.isenabled():  # objects made at startup live until the end, so the collector need not scan them
        gc.freeze()
        gc.enable()
    audit = None
    if stream is not None or mode == "embedded":
        from language.audit.records import Audit

        audit = Audit(
            host.now,
            listener=None if stream is None else stream.record,
            place=None if stream is None else stream.place,
            keep=mode == "embedded",
            uses=None if stream is None else stream.uses,
        )
    context = Context(
        host,
        mode=mode,
        ceiling=ceiling,
        arguments=arguments,
        collect=collect,
        implicit=implicit,
        audit=audit,
        recorded=False,
    )

    protected_path: Callable[[str, bool], str | None] | None = None

    def touched(real: str, writing: bool) -> str | None:
        nonlocal protected_path
        if protected_path is None:
            from language.cli.protected_paths import protected_paths

            entry = None if source.from_stdin else source.name
            audit = None if stream is None else stream.path
            protected_path = protected_paths(flags, source.root, audit, entry, lambda: instance.module_files)
        return protected_path(real, writing)

    context.capabilities.protected_path = touched
    instance = Instance(code, host, root=source.root, build=build_module, context=context)
    return instance


def build_module(source: str, filename: str) -> Code:
    return compile_cached(source.encode("utf-8"), filename, module=True)
