"""All scenarios, and the APIs whose versions each is played in."""

from typing import Final

from prokurist.testing.cluster.apis import ApiName
from tests.conformance import (
    administering_configs,
    administering_groups,
    administering_places,
    administering_security,
    administering_topics,
    classic,
    cluster_facts,
    committing,
    consumer,
    idempotence,
    producing,
    producing_elsewhere,
    reading,
    sessions,
    several_nodes,
    sharing,
    transacting,
    transacting_elsewhere,
    transacting_offsets,
    transacting_partitions,
)
from tests.conformance.stage import Scenario

Catalogue = list[tuple[Scenario, tuple[ApiName, ...]]]

ON_ONE_NODE: Final[Catalogue] = [
    (reading.offsets_by_timestamp, ("ListOffsets",)),
    (reading.offsets_refused, ("ListOffsets",)),
    (reading.epochs_of_one_leader, ("OffsetForLeaderEpoch",)),
    (reading.fetch_positions, ("Fetch",)),
    (reading.fetch_of_what_is_not_there, ("Fetch",)),
    (reading.fetch_within_limits, ("Fetch",)),
    (reading.fetch_twice, ("Fetch",)),
    (reading.fetch_while_parked, ()),
    (reading.fetch_beside_what_is_not_there, ()),
    (reading.open_and_aborted_transactions, ("ListOffsets",)),
    (sessions.what_is_new, ("Fetch",)),
    (sessions.session_epochs, ("Fetch",)),
    (sessions.emptied_session, ("Fetch",)),
    (sessions.deleted_in_a_session, ("Fetch",)),
    (sessions.made_again_in_a_session, ("Fetch",)),
    (sessions.unknown_in_a_session, ("Fetch",)),
    (sessions.turns_in_a_session, ("Fetch",)),
    (sessions.names_then_ids, ()),
    (cluster_facts.who_asks, ("ApiVersions",)),
    (cluster_facts.topics_by_name, ("Metadata",)),
    (cluster_facts.topics_by_id, ("Metadata",)),
    (cluster_facts.coordinators, ("FindCoordinator",)),
    (administering_topics.topics_created, ("CreateTopics",)),
    (administering_topics.names_of_topics, ()),
    (administering_topics.topics_assigned, ()),
    (administering_topics.topics_configured, ()),
    (administering_topics.limits_of_properties, ()),
    (administering_topics.topics_deleted, ("DeleteTopics",)),
    (administering_topics.topics_deleted_by_id, ()),
    (administering_topics.partitions_created, ("CreatePartitions",)),
    (administering_topics.partitions_in_pages, ()),
    (administering_configs.configs_described, ("DescribeConfigs",)),
    (administering_configs.configs_altered, ("IncrementalAlterConfigs",)),
    (administering_configs.resources_altered, ()),
    (administering_configs.brokers_altered, ()),
    (administering_configs.loggers_altered, ()),
    (administering_configs.configs_replaced, ("AlterConfigs",)),
    (cluster_facts.cluster_described, ("DescribeCluster",)),
    (
        administering_groups.groups_administered,
        ("DescribeGroups", "ListGroups", "DeleteGroups"),
    ),
    (administering_groups.members_administered, ("DescribeGroups",)),
    (administering_groups.offsets_administered, ("OffsetCommit",)),
    (administering_groups.offsets_deleted, ()),
    (administering_groups.records_deleted, ("DeleteRecords",)),
    (administering_places.elections_not_needed, ("ElectLeaders",)),
    (administering_places.reassignments_refused, ("AlterPartitionReassignments",)),
    (administering_places.log_directories, ("DescribeLogDirs",)),
    (idempotence.producer_ids, ("InitProducerId",)),
    (idempotence.repetitions_and_gaps, ("Produce",)),
    (idempotence.epochs_of_producers, ()),
    (idempotence.unknown_producers, ()),
    (idempotence.last_sequence_numbers, ()),
    (idempotence.expired_producers, ()),
    (producing.produced_batches, ("Produce",)),
    (producing.compressed_batches, ("Produce",)),
    (producing.places_refused, ("Produce",)),
    (producing.frames_refused, ("Produce",)),
    (producing.batches_refused, ("Produce",)),
    (producing.limits_of_topics, ("Produce",)),
    (producing.stamps_of_brokers, ("Produce",)),
    (producing.unacknowledged_batches, ("Produce",)),
    (transacting.transactional_ids, ("InitProducerId",)),
    (transacting.transaction_timeouts_refused, ("InitProducerId", "EndTxn", "AddOffsetsToTxn")),
    (transacting.ends_of_transactions, ("EndTxn",)),
    (transacting.transactions_in_a_row, ()),
    (transacting.ends_of_both_kinds, ()),
    (transacting.epochs_that_run_out, ("EndTxn", "InitProducerId")),
    (transacting.fenced_producers, ("AddPartitionsToTxn", "AddOffsetsToTxn")),
    (transacting.fenced_by_its_own_numbers, ()),
    (transacting_partitions.partitions_added, ("AddPartitionsToTxn", "AddOffsetsToTxn")),
    (transacting_partitions.partitions_added_by_brokers, ()),
    (transacting_partitions.partitions_not_added, ()),
    (transacting_partitions.batches_of_transactions, ("Produce",)),
    (transacting_partitions.transactions_out_of_time, ()),
    (transacting_offsets.offsets_in_transactions, ("OffsetFetch",)),
    (transacting_offsets.offsets_refused_in_transactions, ()),
    (transacting_offsets.offsets_of_deleted_groups, ()),
    (transacting_offsets.offsets_of_classic_members, ()),
    (transacting_partitions.markers_by_hand, ("WriteTxnMarkers",)),
    (transacting_partitions.transactions_listed, ("ListTransactions",)),
    (transacting_partitions.stable_ends, ("Fetch",)),
    (transacting_partitions.topics_deleted_in_transactions, ()),
    (committing.commits_without_membership, ("OffsetCommit", "OffsetFetch")),
    (committing.commits_refused, ("OffsetCommit", "OffsetFetch")),
    (committing.commits_of_topics_that_change, ("OffsetCommit", "OffsetFetch")),
    (committing.several_groups, ("OffsetFetch",)),
    (committing.groups_deleted, ("DescribeGroups", "DeleteGroups")),
    (classic.classic_strangers, ()),
    (classic.classic_generations, ()),
    (classic.classic_static_members, ()),
    (classic.classic_versions, ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup")),
    (classic.classic_full_group, ()),
    (classic.classic_timeouts_refused, ()),
]
"""Scenarios for which one node is enough."""

ON_A_NODE_OF_ITS_OWN: Final[Catalogue] = [
    (idempotence.producers_of_a_restarted_leader, ()),
]
"""Scenarios that restart the node."""

ON_NODES_OF_THEIR_OWN: Final[Catalogue] = [
    (producing_elsewhere.unclean_elections, ()),
    (several_nodes.death_of_a_broker, ()),
]
"""Scenarios that kill one of three nodes."""

ON_PATIENT_NODES: Final[Catalogue] = [
    (several_nodes.ends_of_a_new_leader, ()),
]
"""Scenarios in which a frozen one of three nodes has to stay in sync."""

ON_NODES_THAT_COORDINATE_ALONE: Final[Catalogue] = [
    (transacting_elsewhere.markers_that_wait, ()),
]
"""Scenarios in which one of three nodes is frozen, and coordinators do not need it."""

ON_A_NODE_THAT_FORGETS: Final[Catalogue] = [
    (transacting_partitions.forgotten_ids, ()),
]
"""Scenarios that wait until transactional ids are forgotten."""

AT_TRANSACTION_VERSION_1: Final[Catalogue] = [
    (transacting.transactional_ids, ()),
    (transacting.ends_of_transactions, ()),
    (transacting.ends_of_both_kinds, ()),
    (transacting.fenced_producers, ()),
    (transacting.fenced_by_its_own_numbers, ()),
    (transacting_partitions.partitions_not_added, ()),
    (transacting_partitions.transactions_out_of_time, ()),
    (transacting_offsets.offsets_refused_in_transactions, ()),
]
"""Scenarios for Kafka 4.x with the feature `transaction.version` at 1: the versions of requests
decide there, but for what a coordinator ends by itself."""

OF_THE_CONSUMER_PROTOCOL: Final[Catalogue] = [
    (consumer.consumer_refusals, ()),
    (consumer.consumer_hand_over, ()),
    (consumer.consumer_static_seats, ()),
    (consumer.consumer_two_protocols, ()),
    (transacting_offsets.offsets_of_consumer_members, ()),
    (administering_groups.consumers_administered, ()),
    (consumer.consumer_described, ("ConsumerGroupDescribe",)),
    (consumer.consumer_subscriptions, ("ConsumerGroupHeartbeat",)),
    (consumer.consumer_full_heartbeats, ("ConsumerGroupHeartbeat",)),
    (consumer.consumer_patterns, ()),
    (consumer.consumer_pattern_matches, ()),
]
"""Scenarios of the consumer protocol: 4.x only. Kafka 3.9 had it in early access, and its first
group epoch is 1 and not 2, so every request that names an epoch would be another request."""

OF_SHARE_GROUPS: Final[Catalogue] = [
    (sharing.share_members, ("ShareGroupHeartbeat",)),
    (sharing.share_session_numbers, ("ShareFetch",)),
    (sharing.share_sessions_and_connections, ()),
    (sharing.share_acknowledgements, ("ShareAcknowledge",)),
    (sharing.share_acknowledgements_refused, ("ShareAcknowledge",)),
    (sharing.share_deliveries, ()),
    (sharing.share_limits, ("ShareFetch",)),
    (sharing.share_groups_administered, ()),
]
"""Scenarios of share groups, which Kafka has since 4.1."""

MODELLED_AS_4: Final = (
    administering_places.log_directories,
    administering_places.elections_on_three,
)
"""Scenarios in which the model answers as Kafka 4.3 alone does: 3.9 lists the replicas of a
directory in an order of its own, and tells other configurations of a topic that is created."""

ON_A_GUARDED_NODE: Final[Catalogue] = [
    (administering_security.acls_made, ("CreateAcls",)),
    (administering_security.acls_filtered, ("DescribeAcls", "DeleteAcls")),
    (administering_security.scram_credentials, ()),
    (administering_security.client_quotas, ("AlterClientQuotas", "DescribeClientQuotas")),
    (administering_security.tokens_in_the_plain, ("DescribeDelegationToken",)),
]
"""Scenarios on a node with an authorizer."""

ON_THREE_NODES: Final[Catalogue] = [
    (administering_places.elections_on_three, ()),
    (several_nodes.leaders_elsewhere, ("Fetch",)),
    (several_nodes.epochs_of_moved_leaders, ()),
    (several_nodes.preferred_replicas, ()),
    (several_nodes.coordinators_elsewhere, ("FindCoordinator",)),
    (transacting_elsewhere.transactions_elsewhere, ()),
    (transacting_elsewhere.leaders_that_move_in_transactions, ()),
    (producing_elsewhere.produced_elsewhere, ("Produce",)),
    (producing_elsewhere.sequences_of_moved_leaders, ()),
    (producing_elsewhere.replicas_out_of_sync, ()),
    (producing_elsewhere.leaders_that_move_meanwhile, ()),
]
"""Scenarios about leaders, followers and coordinators that are elsewhere."""
