"""Replaces ``inspect`` with the functions that ``dataclasses`` and the Markdown parser use. The original would add half a
megabyte.
"""


def get_annotations(owner):
    return dict(vars(owner).get("__annotations__", {}))


def unwrap(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def signature(owner):
    raise ValueError("no signatures here")  # dataclasses would use it for docstrings only


def ismethod(value):
    return type(value) is type(_Any().method)


def getmembers(owner, predicate):
    found = [(name, getattr(owner, name)) for name in dir(owner)]
    return [(name, value) for name, value in found if predicate(value)]


class _Any:
    def method(self):
        pass
