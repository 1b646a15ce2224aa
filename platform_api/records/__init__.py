"""What happened: log lines and audit records."""
