"""What the doctor advises to do."""

from prokurist.cli import advice
from prokurist.errors import DisconnectException, TimeoutException


def test_a_listener_with_sasl_is_no_broker_that_is_overloaded() -> None:
    """B375: the end of a connection says so, and the advice is of the client's keys."""
    closed = DisconnectException("the peer closed it, as a listener that wants SASL does")
    told = advice.on_metadata(closed)
    assert "security.protocol=SASL_SSL" in told
    assert "overloaded" not in told
    assert "overloaded" in advice.on_metadata(TimeoutException("no result after 2 s"))
