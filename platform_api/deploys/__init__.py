"""Deploys: the desired state of a project, its progress, and its status."""
