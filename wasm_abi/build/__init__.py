"""From sources pinned by hash to the two modules: ``python -m wasm_abi.build``."""
