"""Writes docs/builtins.md and the table in docs/capabilities.md from the declarations of the builtins, and docs/conformance.md
from the cases, and docs/llms-full.txt from the pages: ``python docs/generate.py``.
"""

from __future__ import annotations

from pathlib import Path

from conformance.cases import Case, find, load
from docs import llms
from language.capabilities import NAMES
from language.registry import Builtin, Family
from stdlib import FAMILIES, load_family

TARGET = Path(__file__).resolve().parent / "builtins.md"
CAPABILITIES = Path(__file__).resolve().parent / "capabilities.md"
DIFFERENCES = Path(__file__).resolve().parent / "conformance.md"
TABLE = "<!-- Written by docs/generate.py from the declarations in stdlib/. Change those, then run `make docs`. -->"

HEAD = """\
# Builtins

<!-- Written by docs/generate.py from the declarations in stdlib/. Change those, then run `make docs`. -->

A `?` marks an argument that may be left out, `...` one that may be repeated, `=` a default and an argument that may be given by
name. Results are new values: no builtin changes its arguments. Every error can be caught with `try` and `recover`.
"""


def entry(builtin: Builtin, aliases: list[str]) -> str:
    """The manual's text of one builtin."""
    notes = []
    if builtin.capability:
        notes.append(f"Needs the capability `{builtin.capability}`.")
    if builtin.named:
        notes.append("By name: " + ", ".join(f"`{name}`" for name in builtin.named) + ".")
    if aliases:
        notes.append("Older names: " + ", ".join(f"`{name}`" for name in aliases) + ".")
    if builtin.profile != "everywhere":
        notes.append("Not available in the WebAssembly builds.")
    parts = [f"### `{builtin.signature}`", builtin.doc, " ".join(notes)]
    return "\n\n".join(part for part in parts if part)


def section(family: Family) -> str:
    """One family: its title, its constants, its builtins in the order of their declaration."""
    aliases: dict[str, list[str]] = {}
    for builtin in family.builtins.values():
        if builtin.alias_of:
            aliases.setdefault(builtin.alias_of, []).append(builtin.name)
    parts = [f"## {family.title}"]
    if family.constants:
        parts.append("Constants: " + ", ".join(f"`{name}`" for name in family.constants) + ".")
    parts += [entry(builtin, aliases.get(name, [])) for name, builtin in family.builtins.items() if not builtin.alias_of]
    return "\n\n".join(parts)


def reference() -> str:
    """The whole page."""
    families = [load_family(name) for name in FAMILIES]
    contents = []
    for family in families:
        anchor = "".join(c for c in family.title.lower().replace(" ", "-") if c.isalnum() or c in "-_")
        names = ", ".join(f"`{name}`" for name, builtin in family.builtins.items() if not builtin.alias_of)
        contents.append(f"- [{family.title}](#{anchor}): {names}")
    return "\n\n".join([HEAD.rstrip(), "\n".join(contents), *(section(family) for family in families)]) + "\n"


def with_table(page: str) -> str:
    """The page on capabilities with the table of what needs which of them."""
    needing: dict[str, list[str]] = {name: [] for name in NAMES}
    for family in FAMILIES:
        for builtin in load_family(family).builtins.values():
            if builtin.capability and not builtin.alias_of:
                needing[builtin.capability].append(f"`{builtin.name}`")
    rows = [f"| `{name}` | {', '.join(builtins)} |" for name, builtins in needing.items() if builtins]
    return "\n".join([page.partition(TABLE)[0] + TABLE, "", "| Capability | Builtins |", "|---|---|", *rows]) + "\n"


BUILDS = {
    "native": "Native: the command",
    "embedded": "Embedded: the Python package",
    "web": "The web build",
    "wasip1": "The wasip1 build",
}

DIFFERENCES_HEAD = """\
# Conformance

<!-- Written by docs/generate.py from the cases in conformance/. Change those, then run `make docs`. -->

`conformance/` holds {count} programs that carry in comments what they must do. The same harness runs them in every build; the
lines that come out, the errors with their places and the exit code must be those that the case states:

```text
python -m conformance.harness                      # embedded
python -m conformance.harness --profile native     # the command, one process for each case
python -m conformance.harness --profile web        # dist/lang-web.wasm (make wasm)
python -m conformance.harness --profile wasip1     # dist/lang-wasip1.wasm
```

What a build leaves out is stated in the case, with the reason. Where a build refuses something that others do, the refusal is a
case of its own."""


def linked(case: Case) -> str:
    return f"[{case.name}](../conformance/{case.name}.lang)"


def differences() -> str:
    """The page on what each build leaves out."""
    cases = [load(path) for path in find()]
    parts = [DIFFERENCES_HEAD.format(count=len(cases))]
    for build, title in BUILDS.items():
        reasons: dict[str, list[Case]] = {}
        for case in cases:
            reason = case.excluded(build)
            if reason:
                reasons.setdefault(reason, []).append(case)
        left_out = sum(map(len, reasons.values()))
        rows = [f"| {reason} | {', '.join(map(linked, found))} |" for reason, found in sorted(reasons.items())]
        parts += [f"## {title}", f"Runs {len(cases) - left_out} of {len(cases)}."]
        if rows:
            parts.append("\n".join(["| Left out because | Cases |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    DIFFERENCES.write_text(differences(), encoding="utf-8")
    TARGET.write_text(reference(), encoding="utf-8")
    llms.TARGET.write_text(llms.text(), encoding="utf-8")
    CAPABILITIES.write_text(with_table(CAPABILITIES.read_text(encoding="utf-8")), encoding="utf-8")
