"""What can be wrong with bytes, in either direction.

Both are the client's own and no broker's word, so neither has an error code.
"""

from prokurist.errors import KafkaException


class MalformedAnswer(KafkaException):
    """A frame that is no valid answer: the connection cannot be used any more.

    The one exception that an answer's bytes can cause. The text names API and
    version and never quotes the bytes, which may hold private data.
    """


class UnsendableRequest(KafkaException):
    """A value that the protocol cannot carry, such as a group id of 40 000 bytes."""


class Malformed(ValueError):
    """What a reader found wrong; `codec` adds the request, and raises `MalformedAnswer`."""
