"""What hatch asks for while it makes a wheel: the playground goes in where the web build has been made (``make wasm``)."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Where ``platform_api.administration.playground`` finds it.
IN_PACKAGE = "platform_api/playground_site"


class Playground(BuildHookInterface[Any]):
    """Adds the files of the playground to a wheel. Without a web build the wheel is made without them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before the files of a wheel are gathered. An editable installation finds them in the checkout."""
        root = Path(self.root)
        if version == "editable" or not (root / "dist" / "lang-web.wasm").is_file():
            return
        layout = runpy.run_path(str(root / "wasm_abi" / "playground" / "layout.py"))
        for name, path in layout["files"]().items():
            build_data["force_include"][str(path)] = f"{IN_PACKAGE}/{name}"
