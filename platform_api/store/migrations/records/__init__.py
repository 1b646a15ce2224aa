"""The versions of the tables of ``records``."""
