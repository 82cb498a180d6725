"""Writing rows to Kafka: the options, the columns, the tasks, and exactly once by the driver.

Thread: the main one of a Python worker of Spark; of `exactly_once`, the driver's.
"""
