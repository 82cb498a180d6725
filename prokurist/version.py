"""Version of prokurist.

Thread: any. A module of its own: what is installed can be asked too, but that imports a
reader of e-mail, and takes longer than to build a client.
"""

from typing import Final

VERSION: Final = "0.9.0.dev0"
