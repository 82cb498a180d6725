"""SASL mechanisms as state machines: bytes in, bytes out, no socket, thread or clock.

Nothing here waits for the network. What may wait all the same (a secret's callable, a file,
a token's source, Kerberos, PBKDF2) is called from a helper thread of the network thread.
Texts of errors name keys, mechanisms and what a broker said, and never a secret.
"""
