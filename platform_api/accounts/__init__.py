"""Accounts: passwords, tokens and their scopes, devices, browser sessions, the second factor."""
