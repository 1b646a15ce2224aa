"""The history of a project: one chain of lines that anybody can verify."""
