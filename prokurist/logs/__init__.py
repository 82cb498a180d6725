"""The log: the core's log events as lines of Python's logging or events of structlog."""
