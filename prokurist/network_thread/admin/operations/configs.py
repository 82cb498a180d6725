"""Operations on configurations.

Thread: any; tables.
"""

from collections.abc import Mapping
from typing import Any, Final

from prokurist.events.admin.configs import (
    ConfigResourcesToList,
    ConfigsToAlter,
    ConfigsToDescribe,
)
from prokurist.network_thread.admin.job import AdminOperation, Again
from prokurist.network_thread.admin.places import any_broker, by_broker
from prokurist.network_thread.error_actions import Action, table
from prokurist.network_thread.wire.admin.configs import (
    DescribeConfigs,
    IncrementalAlterConfigs,
    ListConfigResources,
)

_NO_RIGHTS: Final = {
    29: (Action.FATAL, "no rights on the topic"),
    30: (Action.FATAL, "no rights on the group"),
    31: (Action.FATAL, "no rights on the cluster"),
}

DESCRIBE_CONFIGS: Final = table(
    "DescribeConfigs",
    {
        **_NO_RIGHTS,
        3: (Action.FATAL, "there is no such topic"),
        40: (Action.FATAL, "there is no such key, or no such resource"),
        42: (Action.FATAL, "the broker makes no sense of the resource"),
    },
)

INCREMENTAL_ALTER_CONFIGS: Final = table(
    "IncrementalAlterConfigs",
    {
        **_NO_RIGHTS,
        3: (Action.FATAL, "there is no such topic"),
        40: (Action.FATAL, "the key or its value is refused"),
        41: (Action.RETRY, "another broker is the controller"),
        42: (Action.FATAL, "the broker makes no sense of the change"),
        44: (Action.FATAL, "a policy of the cluster refuses it"),
        89: (Action.RETRY, "the quota of changes is used up for now"),
    },
)

LIST_CONFIG_RESOURCES: Final = table("ListConfigResources", _NO_RIGHTS)

OPERATIONS: Final[Mapping[type[Any], AdminOperation]] = {
    ConfigResourcesToList: AdminOperation(
        table=LIST_CONFIG_RESOURCES,
        again=Again.QUESTION,
        place=any_broker,
        message=lambda job, _items, _seconds: ListConfigResources(job.work.kinds),
    ),
    ConfigsToDescribe: AdminOperation(
        table=DESCRIBE_CONFIGS,
        again=Again.QUESTION,
        place=by_broker(lambda resource: resource.broker_id),
        message=lambda job, items, _seconds: DescribeConfigs(
            items, job.work.synonyms, job.work.documentation
        ),
    ),
    ConfigsToAlter: AdminOperation(
        table=INCREMENTAL_ALTER_CONFIGS,
        again=Again.SAME,
        place=by_broker(lambda resource: resource.broker_id),
        message=lambda job, items, _seconds: IncrementalAlterConfigs(
            items, job.work.validate_only
        ),
    ),
}
