"""The implementation of a host on the operating system: one module for each kind of effect, imported when a program first needs
it.
"""
