"""Deploys: what is wanted of a project, what becomes of it, and what its status is."""
