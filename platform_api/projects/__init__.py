"""Projects: found, made from files, a recipe or a repository, listed, changed, deleted."""
