"""Fixtures of the records' tests."""

import pytest

from prokurist.records.implementation import Codec
from tests.unit.records.twins import twin


@pytest.fixture(params=["python", "native"])
def codec(request: pytest.FixtureRequest) -> Codec:
    """Each twin in turn; the native one only where it was built."""
    return twin(request.param)
