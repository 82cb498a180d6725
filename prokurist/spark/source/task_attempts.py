"""Number of the present attempt at a Spark task.

Thread: the main one of a Python worker of Spark.
"""

from pyspark import TaskContext


def attempt_number() -> int:
    """Return the number of this attempt, counted from 0; 0 outside of a task."""
    context = TaskContext.get()
    return 0 if context is None else context.attemptNumber()
