"""The bill of materials that a release adds to its wheels."""

import base64
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "sbom.py"
INFO = "prokurist-1.2.dist-info"
BILL = f"{INFO}/sboms/prokurist.cdx.json"


def make_wheel(folder: Path, *modules: bytes) -> Path:
    """Write a wheel with native modules of some content."""
    path = folder / "prokurist-1.2-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        names = [f"prokurist/_native{number}.so" for number in range(len(modules))]
        for name, module in zip(names, modules, strict=True):
            wheel.writestr(name, module)
        record = "".join(f"{name},,\n" for name in (*names, f"{INFO}/RECORD"))
        wheel.writestr(f"{INFO}/RECORD", record)
    return path


def add_bill(wheel: Path) -> subprocess.CompletedProcess[str]:
    """Run the tool on a wheel."""
    return subprocess.run(
        [sys.executable, TOOL, wheel], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("modules", "expected"),
    [((), []), ((b"ELF\0_cython_3_3_1\0", b"\0_cython_3_3_1\0more"), [("cython", "3.3.1")])],
    ids=["pure", "native"],
)
def test_the_bill_names_what_is_in_the_wheel(
    tmp_path: Path, modules: tuple[bytes, ...], expected: list[tuple[str, str]]
) -> None:
    """The generated code by the version in the modules; added twice, it stands there once."""
    wheel = make_wheel(tmp_path, *modules)
    for _ in range(2):
        done = add_bill(wheel)
        assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(BILL)
        names = archive.namelist()
        record = archive.read(f"{INFO}/RECORD").decode().splitlines()
    assert len(names) == len(set(names))
    bill = json.loads(content)
    assert bill["metadata"]["component"]["purl"] == "pkg:pypi/prokurist@1.2"
    assert [(each["name"], each["version"]) for each in bill["components"]] == expected
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert record.count(f"{BILL},sha256={digest},{len(content)}") == 1
    assert {line.partition(",")[0] for line in record} == set(names)


def test_modules_of_two_cythons_are_refused(tmp_path: Path) -> None:
    """A wheel put together from two builds names both versions."""
    wheel = make_wheel(tmp_path, b"\0_cython_3_3_1\0", b"\0_cython_3_2_0\0")
    done = add_bill(wheel)
    assert done.returncode == 1
    assert "several Cythons: 3.2.0, 3.3.1" in done.stderr
