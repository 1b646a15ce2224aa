"""What a form sent."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from litestar.datastructures import UploadFile

from platform_api.packages.files import MOST_FILES, SentFile
from platform_api.refusals import Refusal

if TYPE_CHECKING:
    from platform_api.browser import PageRequest

_LONGEST_NUMBER = 9


async def field(request: PageRequest, name: str) -> str:
    """A field of a form as a text with LF at its line ends; ``""`` where it is missing or a file.

    Errors: ``bad_request`` for a text with a NUL, which no browser sends and no store keeps.
    """
    value = (await request.form()).get(name)
    return _plain(value).replace("\r\n", "\n") if isinstance(value, str) else ""


async def fields(request: PageRequest, name: str) -> list[str]:
    """Every value of a field, for example of boxes that are ticked."""
    return [_plain(value) for value in (await request.form()).getall(name, []) if isinstance(value, str)]


async def number_field(request: PageRequest, name: str) -> int:
    """A field that holds a whole number.

    Errors: ``validation``.
    """
    text = (await field(request, name)).strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER):
        raise Refusal("validation", f"{text[:20]!r} is no whole number.", field=name)
    return int(text)


async def source_or_files(request: PageRequest) -> tuple[str | None, list[SentFile] | None]:
    """A pasted program (the field ``source``) and uploaded files (``files`` and ``folder``), each ``None`` where there is none.

    Files of a folder have its own name before their path, which is left out: what is inside is the package.
    """
    form = await request.form()
    source = await field(request, "source")
    files = [
        SentFile(path, base64.b64encode(await upload.read()).decode(), "base64")
        for name in ("files", "folder")
        for upload in form.getall(name, [])
        if isinstance(upload, UploadFile) and (path := _path(upload.filename, in_folder=name == "folder"))
    ][: MOST_FILES + 1]
    return source if source.strip() else None, files or None


def _path(name: str, *, in_folder: bool) -> str:
    return name.partition("/")[2] if in_folder and "/" in name else name


def _plain(value: str) -> str:
    if "\0" in value:
        raise Refusal("bad_request", "A field of a form holds no NUL.")
    return value
