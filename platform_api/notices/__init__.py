"""Notices of what waits for a person or went wrong: by mail, ntfy, Slack and whatever else apprise knows."""
