"""Takes a package in: the rules of its files, then the analysis."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from platform_api.packages.files import SentFile, check_files, decode_files, encode_source, path_problem, replace_source, shown
from platform_api.packages.package import KINDS, Inspection, PackageFile
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from platform_api.platform import Platform

Taken = tuple[tuple[PackageFile, ...], str, str, Inspection]


async def take_package(
    platform: Platform,
    account_id: str,
    *,
    files: Sequence[SentFile] | Sequence[PackageFile] | None = None,
    source: str | None = None,
    entry: str | None = None,
    kind: str | None = None,
) -> Taken:
    """The files, the entry file, the kind and the inspection of a valid package.

    Args:
        files: as a request sends them, or as a stored package has them.
        source: the text of the entry file: without ``files`` the only file, with them it replaces theirs.
        entry: the path of the entry file; without it that of the manifest, else ``main.lang``, else the only source file.
        kind: without it that of the manifest, else the one that fits the program.

    Errors: ``validation`` that names the path or the field at fault, with ``details.errors`` for faults of the program.
    """
    if kind is not None and kind not in KINDS:
        raise Refusal("validation", f"kind must be {', '.join(KINDS[:-1])} or {KINDS[-1]}.", field="kind")
    if entry is not None and (why := path_problem(entry)):
        raise Refusal("validation", f"The entry {shown(entry)} {why}.", field="entry")
    ordered = () if files is None and source is not None else await asyncio.to_thread(_ordered, files or ())
    replacing = None if source is None else encode_source(entry or "main.lang", source)
    try:
        inspection = await platform.analyst.analyse(account_id, ordered, entry, kind, replacing)
    except Refusal as refusal:
        faults = (refusal.details or {}).get("errors") or [{}]
        if source is not None and (not ordered or faults[0].get("path") == entry):
            refusal.field = "source"  # the fault is in that text
        raise
    if source is not None:
        ordered = replace_source(ordered, inspection.entry, source)
    return ordered, inspection.entry, inspection.kind, inspection


def _ordered(files: Sequence[SentFile] | Sequence[PackageFile]) -> tuple[PackageFile, ...]:
    sent = [file for file in files if isinstance(file, SentFile)]
    return decode_files(sent) if sent else check_files(file for file in files if isinstance(file, PackageFile))
