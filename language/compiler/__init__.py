"""From the syntax tree to Python code objects; the door is :mod:`language.compiler.compilation`.

Modules here import each other in one direction. What must write any expression or any block asks the tables in ``parts`` and
``blocks``, which ``expressions`` and ``statements`` fill in.
"""
