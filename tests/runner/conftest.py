"""Tests of the runner drive it through a service, with the tools that the tests of the service have."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "platform_api"))
