"""Virtual time: the real consumer on the cluster model, and a clock that a test moves.

Holds: the world in which both live, its network, and what the pytest plugin hands out.
Thread: the one that calls. It runs the network thread's turns while it waits.
May import: what `testing` may, and the client, by the doors that the contract names.
Only the plugin imports it: the cluster model knows no client.
"""
