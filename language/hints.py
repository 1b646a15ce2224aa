"""Hints for people who know other languages."""


def character_hint(character: str) -> str:
    return ""
