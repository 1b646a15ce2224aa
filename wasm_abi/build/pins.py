"""The inputs of the builds: every source by version and SHA-256. The result must not depend on anything else."""

from __future__ import annotations

from dataclasses import dataclass

#: The suite of Debian whose source packages these are, and where it is fetched from.
SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"


@dataclass(frozen=True, slots=True)
class Source:
    """The original tarball of a Debian source package; ``folder`` is what it unpacks to."""

    package: str
    file: str
    sha256: str
    folder: str


CPYTHON = Source(
    "python3.13",
    "python3.13_3.13.5.orig.tar.xz",
    "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640",
    "Python-3.13.5",
)
ARGON2 = Source(
    "argon2",
    "argon2_0~20190702+dfsg.orig.tar.xz",
    "815f1017b5b0033204778c2e32443257274bc5d9dd16d355c4f7db8189e23dcc",
    "phc-winner-argon2-20190702",
)

#: `x.y` of the interpreter, whose bytecode only an interpreter of the same minor version writes.
PYTHON = "3.13"

#: The Unix time for every place where a build writes a time: the release of that CPython.
EPOCH = 1_749_600_000

#: The compiler's C library calls these; the last one is ours alone.
TARGET = "wasm32-wasi"
