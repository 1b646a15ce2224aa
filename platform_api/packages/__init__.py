"""Packages: the files of a program, the rules for them, their analysis, their storage."""
