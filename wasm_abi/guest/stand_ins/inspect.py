"""In the place of ``inspect``: what ``dataclasses`` and the Markdown parser ask of it. It would bring half a megabyte along."""


def get_annotations(owner):
    return dict(vars(owner).get("__annotations__", {}))


def unwrap(function):
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def signature(owner):
    raise ValueError("no signatures here")  # what dataclasses would write into documentation


def ismethod(value):
    return type(value) is type(_Any().method)


def getmembers(owner, predicate):
    found = [(name, getattr(owner, name)) for name in dir(owner)]
    return [(name, value) for name, value in found if predicate(value)]


class _Any:
    def method(self):
        pass
