"""The limit for the compressed size of a product."""

from __future__ import annotations

import gzip
from pathlib import Path

from wasm_abi.build.modules import Build
from wasm_abi.build.workshop import BuildFailed, tell

#: Bytes after ``gzip -9``. The web build must not exceed this; for the other one it is a warning.
MOST = 5_000_000


def measured(product: Path, build: Build) -> str:
    """The sizes of a product in words. Raises ``BuildFailed`` when the web build is too large."""
    data = product.read_bytes()
    size = len(gzip.compress(data, 9, mtime=0))
    words = f"{len(data):,} bytes, {size:,} compressed"
    if size > MOST:
        if build.name == "web":
            raise BuildFailed(f"{build.product} has {words}: more than {MOST:,}")
        tell(f"warning: {build.product} is larger than {MOST:,} bytes compressed")
    return words
