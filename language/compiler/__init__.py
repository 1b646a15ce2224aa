"""From the syntax tree to Python code objects; the entry point is :mod:`language.compiler.compilation`.

The modules import each other in one direction. A module that must compile any expression or block uses the tables in
``parts`` and ``blocks``, which ``expressions`` and ``statements`` fill in.
"""
