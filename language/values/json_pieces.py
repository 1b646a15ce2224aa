"""JSON texts of many characters, scanned in pieces.

Python's scanner makes all the values of a text in one call, which no limit can end, and the values of a text of brackets take
twenty times its memory. Here each call of the scanner gets a piece of the text. A piece ends at a comma outside of strings.
The containers that are open where it begins are opened again in front of it, those that are open where it ends are closed
behind it, and what the scanner makes of that is added to the containers that earlier pieces have begun.
"""

from __future__ import annotations

import os

from language.values.salting import salted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, NamedTuple

    class Piece(NamedTuple):
        """``text[start:end]``, and the containers that are open at its end: of those that were open at its start the first
        ``kept``, then one for each bracket of ``opened``. The last piece of a text has nothing open.
        """

        start: int
        end: int
        kept: int
        opened: str
