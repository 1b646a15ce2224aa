"""Notices about questions for a person and about failures: by mail, ntfy, Slack and the other services of apprise."""
