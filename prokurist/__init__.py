"""prokurist: the Kafka client for Python in which every call answers by its deadline.

The names below are resolved when they are first asked for, so that importing
the package costs next to nothing. Nothing inside the package imports from here.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prokurist import admin as admin
    from prokurist import errors as errors
    from prokurist import metrics as metrics
    from prokurist import otel as otel
    from prokurist import parallel as parallel
    from prokurist import spark as spark
    from prokurist import testing as testing
    from prokurist import timeline as timeline
    from prokurist.admin.admin import KafkaAdmin as KafkaAdmin
    from prokurist.application.health import MembershipHealth as MembershipHealth
    from prokurist.assignors.assignor import Assignor as Assignor
    from prokurist.assignors.assignor import Member as Member
    from prokurist.config import AdminConfig as AdminConfig
    from prokurist.config import ConsumerConfig as ConsumerConfig
    from prokurist.config import ProducerConfig as ProducerConfig
    from prokurist.config import Secret as Secret
    from prokurist.config import ShareConsumerConfig as ShareConsumerConfig
    from prokurist.consumer.consumer import KafkaConsumer as KafkaConsumer
    from prokurist.consumer.health import Health as Health
    from prokurist.consumer.listeners import (
        ConsumerRebalanceListener as ConsumerRebalanceListener,
    )
    from prokurist.consumer.offset_tracker import OffsetTracker as OffsetTracker
    from prokurist.errors import CommitFailedException as CommitFailedException
    from prokurist.errors import ConfigException as ConfigException
    from prokurist.errors import ConfigWarning as ConfigWarning
    from prokurist.errors import IllegalStateException as IllegalStateException
    from prokurist.errors import KafkaException as KafkaException
    from prokurist.errors import RetriableException as RetriableException
    from prokurist.errors import TimeoutException as TimeoutException
    from prokurist.errors import WakeupException as WakeupException
    from prokurist.events.accumulator.deliveries import DeliveredRun as DeliveredRun
    from prokurist.events.accumulator.deliveries import Deliveries as Deliveries
    from prokurist.events.accumulator.implementation import Delivery as Delivery
    from prokurist.events.accumulator.record_metadata import RecordMetadata as RecordMetadata
    from prokurist.producer.health import ProducerHealth as ProducerHealth
    from prokurist.producer.producer import KafkaProducer as KafkaProducer
    from prokurist.producer.read_process_write import ReadProcessWrite as ReadProcessWrite
    from prokurist.producer.transacting import TransactionBlock as TransactionBlock
    from prokurist.producer.user_code import ProducerRecord as ProducerRecord
    from prokurist.records.consumer_records import ConsumerRecord as ConsumerRecord
    from prokurist.records.consumer_records import ConsumerRecords as ConsumerRecords
    from prokurist.records.why_empty import EmptyCause as EmptyCause
    from prokurist.records.why_empty import OpenTransaction as OpenTransaction
    from prokurist.records.why_empty import WhyEmpty as WhyEmpty
    from prokurist.share.consumer import KafkaShareConsumer as KafkaShareConsumer
    from prokurist.share.health import ShareHealth as ShareHealth
    from prokurist.share.records import ShareRecord as ShareRecord
    from prokurist.share.records import ShareRecords as ShareRecords
    from prokurist.types import Acknowledge as Acknowledge
    from prokurist.types import ConsumerGroupMetadata as ConsumerGroupMetadata
    from prokurist.types import GroupMembershipOperation as GroupMembershipOperation
    from prokurist.types import LogEvent as LogEvent
    from prokurist.types import MembershipState as MembershipState
    from prokurist.types import Node as Node
    from prokurist.types import OffsetAndMetadata as OffsetAndMetadata
    from prokurist.types import OffsetAndTimestamp as OffsetAndTimestamp
    from prokurist.types import PartitionInfo as PartitionInfo
    from prokurist.types import PartitionProgress as PartitionProgress
    from prokurist.types import SubscriptionPattern as SubscriptionPattern
    from prokurist.types import TimestampType as TimestampType
    from prokurist.types import TopicPartition as TopicPartition

    __version__: str

__all__ = [
    "Acknowledge",
    "AdminConfig",
    "Assignor",
    "CommitFailedException",
    "ConfigException",
    "ConfigWarning",
    "ConsumerConfig",
    "ConsumerGroupMetadata",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerRecords",
    "DeliveredRun",
    "Deliveries",
    "Delivery",
    "EmptyCause",
    "GroupMembershipOperation",
    "Health",
    "IllegalStateException",
    "KafkaAdmin",
    "KafkaConsumer",
    "KafkaException",
    "KafkaProducer",
    "KafkaShareConsumer",
    "LogEvent",
    "Member",
    "MembershipHealth",
    "MembershipState",
    "Node",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "OffsetTracker",
    "OpenTransaction",
    "PartitionInfo",
    "PartitionProgress",
    "ProducerConfig",
    "ProducerHealth",
    "ProducerRecord",
    "ReadProcessWrite",
    "RecordMetadata",
    "RetriableException",
    "Secret",
    "ShareConsumerConfig",
    "ShareHealth",
    "ShareRecord",
    "ShareRecords",
    "SubscriptionPattern",
    "TimeoutException",
    "TimestampType",
    "TopicPartition",
    "TransactionBlock",
    "WakeupException",
    "WhyEmpty",
    "__version__",
    "admin",
    "errors",
    "metrics",
    "otel",
    "parallel",
    "spark",
    "testing",
    "timeline",
]

_HOMES = {
    "Acknowledge": "prokurist.types",
    "AdminConfig": "prokurist.config",
    "Assignor": "prokurist.assignors.assignor",
    "CommitFailedException": "prokurist.errors",
    "ConfigException": "prokurist.errors",
    "ConfigWarning": "prokurist.errors",
    "ConsumerConfig": "prokurist.config",
    "ConsumerGroupMetadata": "prokurist.types",
    "ConsumerRebalanceListener": "prokurist.consumer.listeners",
    "ConsumerRecord": "prokurist.records.consumer_records",
    "ConsumerRecords": "prokurist.records.consumer_records",
    "DeliveredRun": "prokurist.events.accumulator.deliveries",
    "Deliveries": "prokurist.events.accumulator.deliveries",
    "Delivery": "prokurist.events.accumulator.implementation",
    "EmptyCause": "prokurist.records.why_empty",
    "GroupMembershipOperation": "prokurist.types",
    "Health": "prokurist.consumer.health",
    "IllegalStateException": "prokurist.errors",
    "KafkaAdmin": "prokurist.admin.admin",
    "KafkaConsumer": "prokurist.consumer.consumer",
    "KafkaException": "prokurist.errors",
    "KafkaProducer": "prokurist.producer.producer",
    "KafkaShareConsumer": "prokurist.share.consumer",
    "LogEvent": "prokurist.types",
    "Member": "prokurist.assignors.assignor",
    "MembershipHealth": "prokurist.application.health",
    "MembershipState": "prokurist.types",
    "Node": "prokurist.types",
    "OffsetAndMetadata": "prokurist.types",
    "OffsetAndTimestamp": "prokurist.types",
    "OffsetTracker": "prokurist.consumer.offset_tracker",
    "OpenTransaction": "prokurist.records.why_empty",
    "PartitionInfo": "prokurist.types",
    "PartitionProgress": "prokurist.types",
    "ProducerConfig": "prokurist.config",
    "ProducerHealth": "prokurist.producer.health",
    "ProducerRecord": "prokurist.producer.user_code",
    "ReadProcessWrite": "prokurist.producer.read_process_write",
    "RecordMetadata": "prokurist.events.accumulator.record_metadata",
    "RetriableException": "prokurist.errors",
    "Secret": "prokurist.config",
    "ShareConsumerConfig": "prokurist.config",
    "ShareHealth": "prokurist.share.health",
    "ShareRecord": "prokurist.share.records",
    "ShareRecords": "prokurist.share.records",
    "SubscriptionPattern": "prokurist.types",
    "TimeoutException": "prokurist.errors",
    "TimestampType": "prokurist.types",
    "TopicPartition": "prokurist.types",
    "TransactionBlock": "prokurist.producer.transacting",
    "WakeupException": "prokurist.errors",
    "WhyEmpty": "prokurist.records.why_empty",
}
"""Module of each name; `test_exports` keeps them equal to the names that type checkers see."""

_ROOMS = frozenset(
    {"admin", "errors", "metrics", "otel", "parallel", "spark", "testing", "timeline"}
)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
    elif name in _ROOMS:
        value = import_module(f"prokurist.{name}")
    elif name == "__version__":
        value = import_module("prokurist.version").VERSION
    else:
        from prokurist.application.peers_words import PACKAGE_WORDS  # noqa: PLC0415 - an error's

        if name not in PACKAGE_WORDS:
            raise AttributeError(f"module 'prokurist' has no attribute {name!r}", name=name)
        word = PACKAGE_WORDS[name]
        # An import statement would put a text of its own in an AttributeError's place.
        asks = sys._getframe(1).f_globals.get("__name__")  # noqa: SLF001 - as in the guard
        if asks == "importlib._bootstrap":
            text = f"cannot import name {name!r} from 'prokurist': use {word}"
            raise ImportError(text, name=__name__, path=__file__)
        text = f"module 'prokurist' has no attribute {name!r}: use {word}"
        raise AttributeError(text, name=name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
