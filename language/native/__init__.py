"""The operating system's side of a host: one module for each kind of effect, loaded when a program first asks for it."""
