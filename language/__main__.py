"""``python -m language``: the same as ``lang``."""

from __future__ import annotations

import sys

from language.cli.main import main

sys.exit(main())
