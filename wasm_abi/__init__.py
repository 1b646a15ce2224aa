"""The WebAssembly builds: how they are made (``build``, ``c``), what runs inside (``guest``), and their wrappers."""
