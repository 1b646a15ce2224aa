"""Packages: the files of a program, the rules that they keep, what the analysis found, how they are stored."""
