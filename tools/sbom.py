"""Add a software bill of materials to wheels: `.dist-info/sboms/prokurist.cdx.json` (PEP 770).

A wheel holds files of the project. A native one also holds code that Cython has generated, with
its runtime; the version stands in the modules. What is installed beside a wheel is in its
`Requires-Dist`, and not in the bill.

    python tools/sbom.py dist/*.whl
"""

import base64
import hashlib
import json
import re
import sys
import zipfile
from pathlib import Path
from typing import Any, Final

CYTHON: Final = re.compile(rb"_cython_(\d+(?:_\d+)+)\0")


def find_cython(wheel: zipfile.ZipFile) -> str | None:
    """Return the version of Cython that generated a wheel's modules; None without modules."""
    found = {
        version.decode().replace("_", ".")
        for name in wheel.namelist()
        if name.endswith(".so")
        for version in CYTHON.findall(wheel.read(name))
    }
    if len(found) > 1:
        sys.exit(f"{wheel.filename} has modules of several Cythons: {', '.join(sorted(found))}")
    return next(iter(found), None)


def describe(version: str, cython: str | None) -> dict[str, Any]:
    """Return the bill of a wheel as CycloneDX 1.6 has it.

    Args:
        version: The wheel's.
        cython: The version of Cython that generated its modules; None for a pure wheel.
    """

    def component(name: str, version: str, kind: str) -> dict[str, Any]:
        purl = f"pkg:pypi/{name}@{version}"
        return {
            "type": kind,
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "licenses": [{"license": {"id": "Apache-2.0"}}],
        }

    itself = component("prokurist", version, "library")
    held = [component("cython", cython, "library")] if cython else []
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": itself},
        "components": held,
        "dependencies": [
            {"ref": itself["bom-ref"], "dependsOn": [each["bom-ref"] for each in held]},
            *({"ref": each["bom-ref"], "dependsOn": []} for each in held),
        ],
    }


def add_bill(path: Path) -> None:
    """Add the bill to a wheel, which is written again; one that is there is replaced."""
    name, version = path.name.split("-")[:2]
    info = f"{name}-{version}.dist-info"
    bill, record = f"{info}/sboms/prokurist.cdx.json", f"{info}/RECORD"
    made = path.with_suffix(".tmp")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(made, "w") as new:
        content = json.dumps(describe(version, find_cython(old)), indent=1).encode() + b"\n"
        lines = old.read(record).decode().splitlines()
        lines = [
            line for line in lines if line and not line.startswith((f"{bill},", f"{record},"))
        ]
        digest = (
            base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        )
        lines += [f"{bill},sha256={digest},{len(content)}", f"{record},,"]
        for entry in old.infolist():
            if entry.filename not in (bill, record):
                new.writestr(entry, old.read(entry), zipfile.ZIP_DEFLATED)
        for added, data in ((bill, content), (record, "\n".join(lines).encode() + b"\n")):
            entry = zipfile.ZipInfo(added, old.getinfo(record).date_time)
            entry.external_attr = old.getinfo(record).external_attr
            new.writestr(entry, data, zipfile.ZIP_DEFLATED)
    made.replace(path)


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        add_bill(Path(argument))
