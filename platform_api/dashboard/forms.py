"""What a form sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from platform_api.browser import PageRequest


async def field(request: PageRequest, name: str) -> str:
    """A field of a form as a text with LF at its line ends; ``""`` where it is missing or a file."""
    value = (await request.form()).get(name)
    return value.replace("\r\n", "\n") if isinstance(value, str) else ""


async def fields(request: PageRequest, name: str) -> list[str]:
    """Every value of a field, for example of boxes that are ticked."""
    return [value for value in (await request.form()).getall(name, []) if isinstance(value, str)]
