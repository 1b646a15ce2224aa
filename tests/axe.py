"""axe (https://github.com/dequelabs/axe-core) for the tests in a browser: what of a page would keep somebody out.

Not installed, it skips its tests by name; where ``CI`` is ``true`` it fails them.
"""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page

from tests.servers import missing

_AXE = Path(__file__).parents[1] / ".venvs" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
_SERIOUS = """async () => {
  const found = await axe.run();
  return found.violations.filter((fault) => ["serious", "critical"].includes(fault.impact))
    .map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.html).join(" ").slice(0, 300)}`);
}"""


def axe_script() -> str:
    """The program that looks at a page."""
    if not _AXE.is_file():
        missing("axe-core", "axe-core (.ci/node tests/platform_api/npm .venvs/axe)")
    return _AXE.read_text(encoding="utf-8")


def serious_faults(page: Page, script: str) -> list[str]:
    """What it finds that is serious or critical; nothing where all is well."""
    page.evaluate(script)
    found = page.evaluate(_SERIOUS)
    assert isinstance(found, list)
    return found
