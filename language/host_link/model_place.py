"""The address at which a program under a runner reaches its language model."""

from __future__ import annotations

from language.models.settings import ModelSettings, place_of, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def model_place(settings: Mapping[str, str]) -> tuple[str, int] | None:
    """Host and port of the model provider that a program with these variables and secrets uses. They are read as the program
    itself reads them. ``None`` if they configure no provider.
    """

    def given(name: str) -> tuple[str, str] | None:
        value = settings.get(name, "").strip()
        return (value, "environ") if value else None

    found = read_settings(given, given, lambda _: None)
    place = place_of(found.base) if isinstance(found, ModelSettings) else None
    return None if place is None else place[:2]
