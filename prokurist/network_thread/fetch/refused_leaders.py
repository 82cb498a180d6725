"""Check of a fetch source's refusal: it concerns only readers of partitions led there.

Thread: the network thread alone; no state.
"""

from collections.abc import Iterable

from prokurist.errors import KafkaException, SaslAuthenticationException
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.types import Node, TopicPartition


async def still_leads(
    metadata: MetadataManager,
    node: Node,
    partitions: Iterable[TopicPartition],
    error: KafkaException,
) -> bool:
    """Return True if a broker that refused the client still leads one of the partitions.

    Leaders may have moved since metadata were fetched: a certificate of a broker that leads
    none of them any more stops no reader. Refused credentials are those of every broker, and
    are told without asking any further. So is a refusal where metadata cannot be had.
    """
    if isinstance(error, SaslAuthenticationException):
        return True
    try:
        cluster = await metadata.fresh()
    except Withdrawn:
        raise
    except KafkaException:
        return True
    return any(cluster.leader(tp) == node for tp in partitions)
