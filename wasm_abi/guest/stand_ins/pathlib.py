"""In the place of ``pathlib``: the Markdown parser names its class, and a function of its own tests uses it."""


class Path:
    pass
