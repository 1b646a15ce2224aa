"""The WebAssembly builds: making them (``build``, ``c``), the code that runs inside (``guest``), and their wrappers."""
