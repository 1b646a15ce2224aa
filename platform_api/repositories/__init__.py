"""Public repositories: their addresses, and their files, fetched where nobody reaches a private network with it."""
