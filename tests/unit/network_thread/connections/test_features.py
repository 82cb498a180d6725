"""What the cluster has finalised: the latest epoch counts, from any broker."""

from prokurist.network_thread.connections.features import GROUP_VERSION, Features
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer
from prokurist.network_thread.wire.versions import Versions


def told(level: int | None, epoch: int) -> ApiVersionsAnswer:
    """A greeting that tells of the group protocol's level."""
    levels = () if level is None else ((GROUP_VERSION, level),)
    return ApiVersionsAnswer(0, Versions({}), finalized=levels, finalized_in=epoch)


def test_nothing_is_known_before_a_broker_has_told() -> None:
    """None is not no; and a broker too old to tell means no."""
    features = Features()
    assert features.consumer_protocol is None
    features.told(told(None, -1))
    assert features.consumer_protocol is False


def test_the_latest_epoch_counts() -> None:
    """A broker that lags behind takes nothing back; a downgrade does."""
    features, changes = Features(), list[bool | None]()
    features.changed.connect(lambda: changes.append(features.consumer_protocol))
    features.told(told(0, 4))
    features.told(told(1, 5))
    features.told(told(0, 4))
    features.told(told(1, 5))
    assert features.consumer_protocol is True
    features.told(told(0, 6))
    assert changes == [False, True, False]
