"""Wires the network side of a producer.

Thread: the application's, while a client is being built. Parts of the network thread belong to
that thread alone once it runs.
"""

from typing import Final

from prokurist.assembly.network_side import NetworkSide, System, open_system, trace_of
from prokurist.assembly.security import credentials_of, warn_of_security
from prokurist.config.clients import ProducerConfig
from prokurist.events.accumulator.accumulator import RecordAccumulator
from prokurist.events.accumulator.buffer_memory import BufferMemory
from prokurist.events.accumulator.implementation import Appender
from prokurist.events.accumulator.refused_waits import refused_to_holders
from prokurist.events.accumulator.sticky_partitioner import StickyPartitioner
from prokurist.events.clock import CallersClock
from prokurist.events.trace import Trace
from prokurist.network_thread.cluster.missing_topics import MissingTopics
from prokurist.network_thread.error_actions import PRODUCER_METADATA
from prokurist.network_thread.produce.endings import Endings
from prokurist.network_thread.produce.manager import ProduceManager, ProduceTerms
from prokurist.network_thread.produce.producer_ids import NumberingIds, ProducerIds
from prokurist.network_thread.produce.sealing import Codec
from prokurist.network_thread.produce.topics import ProducerTopics
from prokurist.network_thread.produce.transactions.ids import TransactionalIds
from prokurist.network_thread.produce.transactions.manager import (
    TransactionManager,
    TransactionTools,
)
from prokurist.network_thread.produce.transactions.writes import TransactionWrites
from prokurist.records.compression import Compression

KEPT: Final = 1024
"""Of so many bytes of `max.request.size` a batch of several records leaves one.

For the growth of incompressible records by compression: a broker's default limit is 12 bytes
larger than ours.
"""

ACKS: Final = {"all": -1, "0": 0, "1": 1}


class ProducerSide(NetworkSide):
    """The network side of a producer, wired and not started.

    Args:
        config: The configuration.
        trace: The client's trace.
        system: Sockets, clock and chance of the client.

    Attributes:
        partitioner: Chooses partitions for records without a key; for both threads.
        accumulator: Batches not yet delivered; for both threads.
        endings: Ends of batches, with their counters.
        produce: Sends batches.
    """

    def __init__(self, config: ProducerConfig, trace: Trace, system: System) -> None:
        super().__init__(config, trace, system, create_topics=True, codes=PRODUCER_METADATA)
        self.partitioner: StickyPartitioner = StickyPartitioner(
            system.random, adaptive=config.partitioner_adaptive_partitioning_enable
        )
        self.accumulator: RecordAccumulator = self._accumulator_of(config, system)
        topics = ProducerTopics(
            self.accumulator,
            self.metadata,
            self.timer,
            self.backoff,
            config.metadata_max_idle_ms / 1000,
        )
        MissingTopics(self.metadata, topics.missed, frozenset, trace)
        credentials, now = credentials_of(config), system.clock.now
        self.endings: Endings = Endings(self.accumulator, self.timer, trace, now, credentials)
        ids: NumberingIds | None = None
        writes: TransactionWrites | None = None
        if config.transactional_id is not None:
            ids = TransactionalIds(trace)
            writes = TransactionWrites(config.transactional_id, self.accumulator.follow())
        elif config.enable_idempotence:
            ids = ProducerIds(self.metadata, self.attempts, trace)
        self._writes = writes
        self.produce: ProduceManager = ProduceManager(
            self.client,
            self.metadata,
            self.accumulator,
            self.endings,
            ids,
            writes,
            topics,
            self.partitioner,
            self.timer,
            self.backoff,
            terms_of(config),
            self.thread.end,
        )
        self.register(topics)
        if writes is not None and isinstance(ids, TransactionalIds):
            # Polled behind the records, whose ends it waits for: the last one comes first.
            self.add(
                TransactionManager(
                    config.transaction_timeout_ms / 1000,
                    writes,
                    ids,
                    self.produce,
                    self.accumulator,
                    self.endings,
                    TransactionTools(
                        self.coordinators,
                        self.attempts,
                        self.client.features,
                        self.timer,
                        trace,
                    ),
                )
            )
        self.add(self.produce)

    @property
    def transaction_since(self) -> float | None:
        """Time of the first request of the open transaction; None without one. Any thread."""
        return None if self._writes is None else self._writes.open_since

    def _accumulator_of(self, config: ProducerConfig, system: System) -> RecordAccumulator:
        appender = Appender(
            config.batch_size,
            self.time_of_day,
            ignore_keys=config.partitioner_ignore_keys,
            choose=self.partitioner.choose,
        )
        wait = refused_to_holders(appender.lock, self.thread.mailbox, system.clock.wait)
        return RecordAccumulator(
            appender,
            BufferMemory(config.buffer_memory),
            batch_size=config.batch_size,
            linger=config.linger_ms / 1000,
            delivery=config.delivery_timeout_ms / 1000,
            most=config.max_request_size - config.max_request_size // KEPT,
            largest=config.max_request_size,
            now=system.clock.now,
            wait=wait,
            wake=system.network.wake,
            obstacle=self.client.reachability.obstacle,
            silent=self.client.reachability.silent,
            on_leaders=self.partitioner.draw_again,
        )


def open_producer_side(config: ProducerConfig, clock: CallersClock) -> ProducerSide:
    """Wire the network side of a producer to the sockets of this system."""
    trace = trace_of(config, "producer", None, clock)
    system = open_system(config, trace, clock)
    try:
        side = ProducerSide(config, trace, system)
    except BaseException:
        system.network.shutdown()
        raise
    warn_of_security(config, trace)
    return side


def terms_of(config: ProducerConfig) -> ProduceTerms:
    """The terms that every Produce request states."""
    return ProduceTerms(
        acks=ACKS[config.acks],
        timeout=config.request_timeout_ms / 1000,
        in_flight=config.max_in_flight_requests_per_connection,
        largest=config.max_request_size,
        codec=codec_of(config),
        retries=config.retries,
        availability=config.partitioner_availability_timeout_ms / 1000,
        rack=config.client_rack if config.partitioner_rack_aware else None,
    )


def codec_of(config: ProducerConfig) -> Codec:
    """`compression.type`, with its level where one was given."""
    kind = Compression[config.compression_type.upper()]
    levels = {
        Compression.GZIP: ("compression.gzip.level", config.compression_gzip_level),
        Compression.LZ4: ("compression.lz4.level", config.compression_lz4_level),
        Compression.ZSTD: ("compression.zstd.level", config.compression_zstd_level),
    }
    key, level = levels.get(kind, ("", None))
    return Codec(kind, level if key in config.given else None)
