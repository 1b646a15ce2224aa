"""A ``serve`` block when it runs: its table is checked, its port asked for, its application handed to whoever listens."""

from __future__ import annotations

from language.display import display
from language.errors import RuntimeFault
from language.serve.table import ServeTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.instance import Instance


def serve(instance: Instance, port: Any, rows: tuple[Any, ...]) -> None:
    """Raises ``RuntimeFault`` for everything wrong in the block, and when the port is not granted or cannot be bound."""
    context = instance.context
    number = port_number(port)
    table = ServeTable(rows)
    serving = context.services.get("serving")
    if serving is None:
        return  # under test a block is read and goes no further
    serving.serve(instance, number, table)


def port_number(value: Any) -> int:
    """The port that ``serve on`` names; text that writes a number will do."""
    number = value
    if type(value) is str and value.strip().isascii() and value.strip().isdigit() and len(value.strip()) < 6:
        number = int(value.strip())
    elif type(value) is float and value.is_integer():
        number = int(value)
    if type(number) is not int:
        raise RuntimeFault(f"serve port must be a number, got {display(value)}", located=True)
    if not 0 <= number <= 65535:
        raise RuntimeFault(f"serve port must be a number from 1 to 65535, got {number}", located=True)
    return number
