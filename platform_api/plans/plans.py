"""The plans: read from a TOML file once."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path

NAMES = ("free", "pro", "team")
#: Minutes after which an idle web project sleeps where nothing else is set.
IDLE_MINUTES = 10
_BUNDLED = Path(__file__).with_name("plans.toml")


@dataclass(frozen=True, slots=True)
class Plan:
    """What an account of this plan may use; ``plans.toml`` says what each number counts."""

    name: str
    services: int
    memory_mb: int
    project_memory_mb: int
    disk_mb: int
    projects: int
    packages_mb: int
    runs: int
    sleep: bool
    above: tuple[str, ...]


class Plans:
    """All plans by their names. An account whose plan is not there has the smallest, ``free``."""

    def __init__(self, plans: dict[str, Plan]) -> None:
        self._plans = plans

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the plans, in the order of the file."""
        return tuple(self._plans)

    def __getitem__(self, name: str) -> Plan:
        return self._plans.get(name, self._plans["free"])


def load_plans(path: Path | None = None) -> Plans:
    """The plans of a file; ``None`` is the bundled one.

    Errors: ``OSError``, or ``ValueError`` that names the plan and the setting at fault.
    """
    path = path or _BUNDLED
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    for name in NAMES:
        if not isinstance(tables.get(name), dict):
            raise ValueError(f"{path}: there is no plan [{name}]")
    return Plans({name: _plan(path, name, table) for name, table in tables.items()})


def _plan(path: Path, name: str, table: dict[str, object]) -> Plan:
    from platform_api.plans.ceilings import DENIALS

    wanted: dict[str, type] = {"sleep": bool, "above": list}
    values: dict[str, object] = {}
    for own in fields(Plan):
        if own.name == "name":
            continue
        value, kind = table.get(own.name), wanted.get(own.name, int)
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            shown = {int: "a number from 0", bool: "true or false", list: "a list"}[kind]
            raise ValueError(f"{path}: [{name}] {own.name} must be {shown}, it is {value!r}")
        values[own.name] = value
    for unknown in sorted(set(table) - set(values)):
        raise ValueError(f"{path}: [{name}] {unknown} is no setting of a plan")
    above = table["above"]
    assert isinstance(above, list)
    for item in above:
        if item not in DENIALS:
            raise ValueError(f"{path}: [{name}] above: {item!r} is none of {', '.join(DENIALS)}")
    values["above"] = tuple(above)
    return Plan(name=name, **values)  # type: ignore[arg-type]
