"""Virtual time: the real consumer on the cluster model, and a clock that a test moves.

Holds: the world of both, its network, and the objects of the pytest plugin.
Thread: the caller's. It runs the network thread's turns while it waits.
May import: as `testing`, and the client, by the modules named in the contract. Only the plugin
imports it: the cluster model knows no client.
"""
