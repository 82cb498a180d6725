"""Security of connections: TLS contexts and their stores, SASL mechanisms.

No socket, clock or thread of the client's is known here; `ssl` is imported by the modules
that a client without TLS never imports. Mechanisms are state machines, bytes in and bytes
out; what may wait in them (a secret's callable, a file, a token's source, PBKDF2) is called
from a helper thread. Texts of errors never hold a secret.
"""
