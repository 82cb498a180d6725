"""Work on records in parallel: in threads or tasks, in order by key or by partition.

    from prokurist.parallel import Workers

    workers = Workers(consumer, "orders", bill, threads=16)
    workers.run(stop)

`Workers` polls, hands each record to a thread, tries again what fails, and has the consumer
commit what is done; `TaskWorkers` is the same for coroutines. docs/howto/parallel.md has the
rules.
"""

from prokurist.parallel.dead_letters import DeadLetters
from prokurist.parallel.policies import Order, Retries
from prokurist.parallel.tasks import TaskWorkers
from prokurist.parallel.threads import Workers

__all__ = ["DeadLetters", "Order", "Retries", "TaskWorkers", "Workers"]
