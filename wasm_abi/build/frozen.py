"""The Python part of a build as one C file: our modules, those of Python that they need, the time zones."""

from __future__ import annotations

import json
from pathlib import Path

from wasm_abi.build import interpreter
from wasm_abi.build.interpreter import Library
from wasm_abi.build.modules import Build, reached
from wasm_abi.build.tools import Tools
from wasm_abi.build.workshop import HERE, ROOT, Workshop, tell

#: Our replacements for modules of Python's library, see ``wasm_abi.guest.stand_ins``.
STAND_INS = {
    "inspect": "inspect.py",
    "jwt.jwks_client": "key_sets.py",
    "logging": "logging.py",
    "pathlib": "pathlib.py",
    "zoneinfo._tzpath": "tzpath.py",
}
_STAND_INS = ROOT / "wasm_abi" / "guest" / "stand_ins"


def frozen(shop: Workshop, tools: Tools, build: Build, python: Path, library: Library, folder: Path) -> Path:
    """Writes the C file of the frozen modules of a build into ``folder`` and returns its path."""
    found = reached(build)
    zones = folder / "time_zones.py"
    zones.write_text(_time_zones(tools.packages / "tzdata" / "zoneinfo"))
    out = folder / f"frozen_{build.name}"
    plan = folder / f"plan_{build.name}.json"
    blocked = sorted({*interpreter.DISABLED, *build.absent, "ntpath", "bz2", "lzma", "nt", "_winapi", "winreg"})
    plan.write_text(
        json.dumps(
            {
                "own": {name: str(path) for name, path in found.own.items()},
                "foreign": found.foreign,
                "blocked": [name for name in blocked if not name.startswith("language.")],
                "roots": [str(library.sources / "Lib"), str(tools.packages)],
                "data": {
                    "_lang_time_zones": str(zones),
                    **{name: str(_STAND_INS / file) for name, file in STAND_INS.items()},
                },
                "out": str(out),
            },
            indent=1,
        )
    )
    written = json.loads(shop.run([python, "-I", "-S", "-X", "no_debug_ranges", HERE / "freeze.py", plan]))
    tell(f"{build.name}: {len(written)} modules, {sum(size for _, size in written) / 1e6:.2f} MB of bytecode")
    return out.with_suffix(".c")


def _time_zones(folder: Path) -> str:
    """A module with the rules of every time zone: ``ZONES``, name to the bytes of its file."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"TZif")
    rows = "".join(f"    {path.relative_to(folder).as_posix()!r}: {path.read_bytes()!r},\n" for path in files)
    return f"ZONES = {{\n{rows}}}\n"
