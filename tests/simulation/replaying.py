"""How a life that has failed is lived again."""

import os


def replay(seed: int, where: str) -> str:
    """The command, for the note of an error.

    A life goes by the hashes of strings, too: sets of partitions are gone through in their
    order. `make` gives them a seed of its own; where there was none they were drawn.

    Args:
        seed: The life's.
        where: The file of its test.
    """
    hashes = os.environ.get("PYTHONHASHSEED", "random")
    return (
        f"replay: PYTHONHASHSEED={hashes} PROKURIST_SEEDS={seed} "
        f".venv/bin/python -m pytest {where}"
    )
