"""aiokafka's names for the brokers' errors, by their numbers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

NAMES: Final[Mapping[int, str]] = MappingProxyType(
    {
        -1: "UnknownError",
        0: "NoError",
        1: "OffsetOutOfRangeError",
        2: "CorruptRecordException",
        3: "UnknownTopicOrPartitionError",
        4: "InvalidFetchRequestError",
        5: "LeaderNotAvailableError",
        6: "NotLeaderForPartitionError",
        7: "RequestTimedOutError",
        8: "BrokerNotAvailableError",
        9: "ReplicaNotAvailableError",
        10: "MessageSizeTooLargeError",
        11: "StaleControllerEpochError",
        12: "OffsetMetadataTooLargeError",
        13: "StaleLeaderEpochCodeError",
        14: "GroupLoadInProgressError",
        15: "GroupCoordinatorNotAvailableError",
        16: "NotCoordinatorForGroupError",
        17: "InvalidTopicError",
        18: "RecordListTooLargeError",
        19: "NotEnoughReplicasError",
        20: "NotEnoughReplicasAfterAppendError",
        21: "InvalidRequiredAcksError",
        22: "IllegalGenerationError",
        23: "InconsistentGroupProtocolError",
        24: "InvalidGroupIdError",
        25: "UnknownMemberIdError",
        26: "InvalidSessionTimeoutError",
        27: "RebalanceInProgressError",
        28: "InvalidCommitOffsetSizeError",
        29: "TopicAuthorizationFailedError",
        30: "GroupAuthorizationFailedError",
        31: "ClusterAuthorizationFailedError",
        32: "InvalidTimestampError",
        33: "UnsupportedSaslMechanismError",
        34: "IllegalSaslStateError",
        35: "UnsupportedVersionError",
        36: "TopicAlreadyExistsError",
        37: "InvalidPartitionsError",
        38: "InvalidReplicationFactorError",
        39: "InvalidReplicationAssignmentError",
        40: "InvalidConfigurationError",
        41: "NotControllerError",
        42: "InvalidRequestError",
        43: "UnsupportedForMessageFormatError",
        44: "PolicyViolationError",
        45: "OutOfOrderSequenceNumber",
        46: "DuplicateSequenceNumber",
        47: "InvalidProducerEpoch",
        48: "InvalidTxnState",
        49: "InvalidProducerIdMapping",
        50: "InvalidTransactionTimeout",
        51: "ConcurrentTransactions",
        52: "TransactionCoordinatorFenced",
        53: "TransactionalIdAuthorizationFailed",
        54: "SecurityDisabled",
        55: "OperationNotAttempted",
        56: "KafkaStorageError",
        57: "LogDirNotFound",
        58: "SaslAuthenticationFailed",
        59: "UnknownProducerId",
        60: "ReassignmentInProgress",
        61: "DelegationTokenAuthDisabled",
        62: "DelegationTokenNotFound",
        63: "DelegationTokenOwnerMismatch",
        64: "DelegationTokenRequestNotAllowed",
        65: "DelegationTokenAuthorizationFailed",
        66: "DelegationTokenExpired",
        67: "InvalidPrincipalType",
        68: "NonEmptyGroup",
        69: "GroupIdNotFound",
        70: "FetchSessionIdNotFound",
        71: "InvalidFetchSessionEpoch",
        72: "ListenerNotFound",
        79: "MemberIdRequired",
    }
)
"""Each number's class; `errors` makes it when it is asked for."""

OTHER_NAMES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "CoordinatorLoadInProgressError": 14,
        "CoordinatorNotAvailableError": 15,
        "InvalidMessageError": 2,
        "NotCoordinatorError": 16,
    }
)
"""Second names of some of them."""

RETRIABLE: Final = frozenset({3, 5, 6, 7, 14, 15, 16, 19, 20, 41, 56})
"""Numbers after which aiokafka tries again."""

STALE: Final = frozenset({3, 5, 6, 56})
"""Numbers after which it renews its metadata."""
