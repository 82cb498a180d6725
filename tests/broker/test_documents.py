"""The blocks of README.md and docs/ that want a real Kafka."""

from pathlib import Path

import pytest

from tests.documents import Block, blocks, run

pytestmark = pytest.mark.kafka

WANTING = [each for each in blocks() if each.language == "python" and each.wants_kafka]


@pytest.mark.usefixtures("startable")
@pytest.mark.parametrize("block", WANTING, ids=str)
def test_it_runs(block: Block, tmp_path: Path) -> None:
    """To its end, and without a word on stderr."""
    printed = run(block, tmp_path)
    if block.page == "README.md":
        assert "commit_sync for orders-0 was given 2 s" in printed
