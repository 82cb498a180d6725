"""Errors of encoding and decoding.

All are the client's own and no broker's word, so none has an error code.
"""

from prokurist.errors import DisconnectException, KafkaException


class MalformedAnswer(KafkaException):
    """A frame that is no valid answer: the connection cannot be used any more.

    The only exception for an answer's bytes. The text names API and version and never quotes
    the bytes, which may hold private data.
    """


class UnfinishedAnswer(DisconnectException):
    """The time of a request was over in the midst of its answer, as over a slow link.

    Args:
        text: A description of it.
        arrived: How many bytes of the answer had come.
    """

    def __init__(self, text: str, arrived: int = 0) -> None:
        super().__init__(text)
        self.arrived: int = arrived


class UnsendableRequest(KafkaException):
    """A value that the protocol cannot carry, such as a group id of 40 000 bytes."""


class Malformed(ValueError):
    """Reader's error; `codec` adds the request, and raises `MalformedAnswer`."""
