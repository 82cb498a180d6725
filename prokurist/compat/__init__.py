"""Drop-in faces: other clients' names over this one, for programs that change one import.

Holds: a package for each client, whose classes rename and convert, and hold no side.
Thread: as the client below; callbacks run on the thread that calls, where the other client
has them there.
May import: what is public of `prokurist`, and the clock. Nothing imports a face.

Every call has a deadline. Where the other client waits for ever, without a timeout or with
−1, a face waits for `default.api.timeout.ms`, or for `delivery.timeout.ms` in a producer.
"""
