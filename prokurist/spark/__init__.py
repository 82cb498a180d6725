"""Kafka for Spark, without jars: offsets managed on the driver.

Thread: those of Spark's driver, and of its Python workers.
Holds: Spark's own words for offsets and what is reckoned with them, and the manager of
offsets for batch jobs and `foreachBatch`.
May import: the public parts of the clients, and the clock.

Invariants: this package and whatever it exports by itself load neither pyspark nor
pyarrow; a module that needs one of them imports it at its top, and is loaded when it is
asked for.
"""
