"""Actions for the error codes of ShareFetch and ShareAcknowledge: one table for each place.

Thread: any; tables.
"""

from typing import Final

from prokurist.network_thread.error_actions import Action, table

SHARE_SESSION: Final = table(
    "ShareFetch",
    {
        30: (Action.FATAL, "no rights on the group"),
        35: (Action.FATAL, "the broker has no share groups"),
        122: (Action.NEW_SESSION, "the broker has no such session"),
        123: (Action.NEW_SESSION, "client and broker disagree about the session's requests"),
        133: (Action.NEW_SESSION, "the broker keeps as many sessions as it may"),
    },
    otherwise=Action.NEW_SESSION,
)

SHARE_FETCH: Final = table(
    "ShareFetch",
    {
        3: (Action.REFRESH, "not there, or not yet known to its leader"),
        5: (Action.REFRESH, "an election is on its way"),
        6: (Action.REFRESH, "another broker leads the partition by now"),
        29: (Action.SURFACE, "no rights on the topic, until an ACL grants them"),
        56: (Action.REFRESH, "the leader's disk has failed: another will lead"),
        74: (Action.REFRESH, "client and leader know different epochs"),
        100: (Action.REFRESH, "the topic was created again, or the broker lags behind"),
    },
    otherwise=Action.REFRESH,
)

SHARE_ACKNOWLEDGE: Final = table(
    "ShareAcknowledge",
    {
        3: (Action.FATAL, "the partition is gone, and its records with it"),
        6: (Action.FATAL, "another leader knows no locks"),
        7: (Action.RETRY, "the broker has rolled it back"),
        14: (
            Action.RETRY,
            "the share coordinator loads its log; the broker has rolled it back",
        ),
        15: (Action.RETRY, "no share coordinator at present; the broker has rolled it back"),
        16: (Action.RETRY, "the share coordinator has moved; the broker has rolled it back"),
        42: (Action.FATAL, "the broker rejects the acknowledgements: a bug of ours"),
        74: (Action.FATAL, "another leader knows no locks"),
        100: (Action.FATAL, "the topic is gone, and its records with it"),
        121: (Action.FATAL, "a record is not this member's any more"),
        124: (Action.FATAL, "another leader knows no locks"),
    },
)
