"""What every reader is held against, in virtual time and on real nodes: liveness and thrift.

`bounds` derives from a configuration how long a readable record may stay unread and how many
requests a client may send; `liveness` and `thrift` judge by it. Simulation, soak, chaos and
the suite of real brokers feed them through adapters of their own.
"""
