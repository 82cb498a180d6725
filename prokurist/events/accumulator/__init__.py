"""Records that have been sent and are not yet delivered, in batches by partition.

Thread: both. Application threads append; the network thread takes batches and ends them.
"""
