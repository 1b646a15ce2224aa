"""What a tool can do, told by the capabilities that it holds: read text from outside, read private data, act outside."""

from __future__ import annotations

from language.capabilities import canonical_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

#: What these read was written by somebody else.
OUTSIDE_TEXT = frozenset({"net", "exec", "stdin"})
#: What these read is not for everybody.
PRIVATE_DATA = frozenset({"file", "file.read", "db", "memory", "env", "secret", "reveal", "exec"})
#: What these do is seen outside of the program.
ACTS_OUTSIDE = frozenset({"net", "exec", "file", "file.write", "db", "serve", "sign", "wallet", "spend"})
#: What these read may have come from outside: a folder of letters, a table of messages.
PERHAPS_OUTSIDE_TEXT = OUTSIDE_TEXT | {"file", "file.read", "db", "memory"}


class ToolEffects:
    """What a tool, or a set of tools, can do."""

    __slots__ = ("acts_outside", "may_bring_outside_text", "reads_outside_text", "reads_private_data")

    def __init__(self, capabilities: Iterable[str]) -> None:
        held = {canonical_name(name) for name in capabilities}
        self.reads_outside_text = bool(held & OUTSIDE_TEXT)
        self.reads_private_data = bool(held & PRIVATE_DATA)
        self.acts_outside = bool(held & ACTS_OUTSIDE)
        #: whether what it gives may be a text from outside, as far as its capabilities tell
        self.may_bring_outside_text = bool(held & PERHAPS_OUTSIDE_TEXT)
