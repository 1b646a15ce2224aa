"""Rehearsals: a version is started without any rights, and what it tried is set beside its ceilings."""
