"""The log: what the core tells, as lines of Python's logging or events of structlog."""
