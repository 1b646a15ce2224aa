"""Runs of jobs: asked for or due by a schedule, one at a time a project."""
