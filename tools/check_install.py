"""Check that an installed prokurist loads the twins that are expected: native, or python.

python tools/check_install.py native
"""

import platform
import sys

import prokurist
from prokurist.events import hand
from prokurist.events.accumulator import implementation as accumulator
from prokurist.network_thread.io import tls, watch
from prokurist.network_thread.wire import codec
from prokurist.records import checksum
from prokurist.records import implementation as records
from prokurist.twins import chosen

expected = sys.argv[1]
found = {
    "records": records.CHOICE.name,
    "checksum": checksum.CHOICE.name,
    "accumulator": accumulator.CHOICE.name,
    "hand": hand.CHOICE.name,
    "watch": chosen(watch.MODULES).name,
    "tls": chosen(tls.PUMPS).name,
    "reading": "native" if "native" in codec.READING.__name__ else "python",
}
wrong = {name: twin for name, twin in found.items() if twin != expected}
if wrong:
    sys.exit(f"{prokurist.__file__} is expected to load {expected} twins, and loads {wrong}")
if checksum.crc32c(b"123456789") != 0xE3069283:
    sys.exit("the checksum of 123456789 is not the one that CRC-32C has")
print(
    f"prokurist {prokurist.__version__}, Python {platform.python_version()}: {expected} twins"
)
