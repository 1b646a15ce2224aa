"""The Python side of the two builds: what the C shim calls."""
