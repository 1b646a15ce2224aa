"""The catalog of recipes: programs that a project can begin with, mirrored from a folder or a repository."""
