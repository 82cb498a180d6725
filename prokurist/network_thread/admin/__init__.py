"""Administration on the network thread: one engine, and its operations as tables.

Thread: the network thread alone.
Holds: the manager (`manager`), one piece of work and its rows (`job`, `question`), the brokers
that are asked (`places`, `patience`), and the operations (`operations/`).
"""
