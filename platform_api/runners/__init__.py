"""Runners: their tokens, what they are told, what they report, where a project is placed."""
