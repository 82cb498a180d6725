"""What connections are secured with: TLS contexts, and the stores they are built from.

No socket, clock or thread of the client's is known here; `ssl` is imported by the modules
that a client without TLS never imports.
"""
