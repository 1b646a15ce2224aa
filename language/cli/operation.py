"""Which operation of a program is running, for the streams of the command: see :mod:`language.operation`."""

from __future__ import annotations

from language.operation import operation

__all__ = ["operation"]
