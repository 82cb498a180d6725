"""`format("prokurist")`: the data source, from its options to Arrow batches.

Thread: those of Spark's driver and workers; each module says which.
"""
