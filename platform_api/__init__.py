"""The platform service: projects, their deploys, runs, gates, logs and audit, over HTTP and in a browser."""
