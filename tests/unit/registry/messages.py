"""Message types of Protobuf, as `protoc` would make them of two files."""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT64, STRING, MESSAGE = 3, 9, 11
OPTIONAL = 1


def field(name: str, number: int, kind: Any, type_name: str = "") -> Any:
    """A field."""
    optional: Any = OPTIONAL
    made = descriptor_pb2.FieldDescriptorProto(
        name=name, number=number, type=kind, label=optional
    )
    if type_name:
        made.type_name = type_name
    return made


def _files() -> tuple[Any, Any]:
    money = descriptor_pb2.FileDescriptorProto(
        name="shop/money.proto", package="shop", syntax="proto3"
    )
    amount = money.message_type.add(name="Money")
    amount.field.append(field("cents", 1, INT64))
    order = descriptor_pb2.FileDescriptorProto(
        name="shop/order.proto", package="shop", syntax="proto3"
    )
    order.dependency.extend(["shop/money.proto", "google/protobuf/timestamp.proto"])
    order.message_type.add(name="First").field.append(field("a", 1, INT64))
    second = order.message_type.add(name="Order")
    second.field.append(field("id", 1, INT64))
    second.field.append(field("price", 2, MESSAGE, ".shop.Money"))
    second.field.append(field("at", 3, MESSAGE, ".google.protobuf.Timestamp"))
    second.nested_type.add(name="Skipped")
    inner = second.nested_type.add(name="Line")
    inner.field.append(field("text", 1, STRING))
    return money, order


def _classes() -> dict[str, Any]:
    from google.protobuf import timestamp_pb2

    pool = descriptor_pool.Default()
    assert timestamp_pb2.DESCRIPTOR.name
    for each in _files():
        pool.Add(each)
    names = ("shop.First", "shop.Order", "shop.Order.Line", "shop.Money")
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
        for name in names
    }


CLASSES = _classes()
First, Order, Line, Money = CLASSES.values()
