"""The interface as tools for an assistant (MCP): each tool asks routes of ``/api/v1``, so no check is written a second time."""
