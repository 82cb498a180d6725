"""The structures of Arrow's C data interface, and the memory that they lead to.

Names, numbers and order of the fields are those of the interface's specification. It says
where memory begins, and of most of it not where that ends: what can be held against something
else is, and the rest is taken on trust, as with any code in the same process.

Thread: any.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class Schema(ctypes.Structure):
    """Names and types of columns."""


class Array(ctypes.Structure):
    """The memory of one column, or of several."""


class Stream(ctypes.Structure):
    """Arrays of one schema, one after the other."""

    _fields_: ClassVar = [
        ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)),
        ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)),
        ("release", ctypes.c_void_p),
        ("private_data", ctypes.c_void_p),
    ]


Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(Array))),
    ("dictionary", ctypes.POINTER(Array)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


def memory(address: int, size: int) -> memoryview:
    """Memory as bytes; what it belongs to has to be kept alive meanwhile.

    Raises:
        ValueError: There is none, and not because it is empty.
    """
    if size == 0:
        return memoryview(b"")
    if not address:
        raise ValueError(f"Arrow data is damaged: a buffer of {size} bytes is missing")
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B")


@contextmanager
def released(structure: Any) -> Iterator[Any]:
    """A structure that is filled here, and given back."""
    try:
        yield structure
    finally:
        if structure.release:
            give_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(structure.release)
            give_back(ctypes.addressof(structure))


def pointer(capsule: object, name: bytes) -> int:
    """Return the pointer in a capsule."""
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(read(capsule, name))


def unreleased(structure: Any) -> Any:
    """A structure that a capsule holds, which has not been taken from it.

    Raises:
        ValueError: It has been: a capsule can be read once.
    """
    if not structure.release:
        raise ValueError("the data has been consumed: its capsule can be read only once")
    return structure
