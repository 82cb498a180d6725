"""Environment variable of shell completion.

Thread: the main one; a constant.
"""

from typing import Final

COMPLETION: Final = "_PROKURIST_COMPLETE"
"""The variable that is set when a shell asks."""
