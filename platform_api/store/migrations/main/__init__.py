"""The versions of the tables of ``main``."""
