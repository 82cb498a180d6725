"""Import of kio, the codec of the brokers for tests; without it, the way to install it.

Thread: any. The first import of each package that needs it.
"""

from importlib.util import find_spec

if find_spec("kio") is None:
    raise ModuleNotFoundError(
        "prokurist.testing speaks to and for brokers through kio, which is not installed: "
        "pip install 'prokurist[testing]'",
        name="kio",
    )
