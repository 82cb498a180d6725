"""A Kerberos KDC for a secured Kafka of a test, out of the system's own programs.

Thread: any, one at a time. Needs MIT's `krb5kdc`, `kdb5_util`, `kadmin.local` and `kinit`: on
Debian the packages krb5-kdc, krb5-admin-server and krb5-user. Nothing of the system's own
Kerberos is read or written.
"""

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.testing.kafka.errors import HarnessError
from prokurist.testing.kafka.ports import free_ports

REALM: Final = "PROKURIST.TEST"
PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
_FOLDERS: Final = "/usr/local/sbin:/usr/sbin:/sbin"
_UP_WITHIN: Final = 20.0
_DONE_WITHIN: Final = 30.0


def missing_programs() -> list[str]:
    """The programs of a KDC that this machine does not have."""
    return [each for each in PROGRAMS if _found(each) is None]


class Kdc:
    """A KDC on loopback, with a realm of its own.

    Args:
        folder: Where its files are written; a new one.
        realm: Its name.

    Attributes:
        configuration: `krb5.conf`, for clients (`KRB5_CONFIG`) and for a broker's virtual
            machine (`-Djava.security.krb5.conf`).
        realm: Its name.
    """

    def __init__(self, folder: Path, realm: str = REALM) -> None:
        folder.mkdir(parents=True)
        self.realm: str = realm
        self.configuration: Path = folder / "krb5.conf"
        self._folder = folder
        self._profile = folder / "kdc.conf"
        self._process: subprocess.Popen[bytes] | None = None
        (self._port,) = free_ports(1)
        self._configure()

    def __repr__(self) -> str:
        return f"Kdc({self.realm}, port={self._port})"

    def __enter__(self) -> Self:
        self._run("kdb5_util", "create", "-s", "-r", self.realm, "-P", "not-a-secret")
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start answering.

        Raises:
            HarnessError: It did not begin to listen.
        """
        with (self._folder / "kdc.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(_found("krb5kdc")), "-n", "-r", self.realm],
                env={**os.environ, **self.environment()},
                stdout=log,
                stderr=log,
            )
        clock = MonotonicClock()
        deadline = Deadline.after(clock.now(), _UP_WITHIN)
        while self._process.poll() is None and not deadline.expired(clock.now()):
            try:
                socket.create_connection(("127.0.0.1", self._port), 1.0).close()
            except OSError:
                clock.sleep(0.05)
            else:
                return
        self.stop()
        raise HarnessError(f"{self!r} does not listen: {self._told()}")

    def stop(self) -> None:
        """Stop answering; its data base stays."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()

    def freeze(self) -> None:
        """Have it take connections, and answer none."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Have it answer again."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def environment(self, cache: Path | None = None) -> Mapping[str, str]:
        """Environment for Kerberos programs with this KDC, and no other.

        Args:
            cache: The ticket cache; one that does not exist if None.
        """
        return {
            "KRB5_CONFIG": str(self.configuration),
            "KRB5_KDC_PROFILE": str(self._profile),
            "KRB5CCNAME": f"FILE:{cache or self._folder / 'no-cache'}",
            "KRB5_CLIENT_KTNAME": f"FILE:{self._folder / 'no-keytab'}",
        }

    def keytab(self, principal: str, life: str = "10 hours") -> Path:
        """Add a principal with random keys, and write them to a file.

        Args:
            principal: Its name.
            life: How long its tickets live at most.
        """
        location = self._folder / f"{principal.replace('/', '-')}.keytab"
        self._admin(f'addprinc -randkey -maxlife "{life}" {principal}')
        self._admin(f"ktadd -k {location} {principal}")
        return location

    def ticket(self, principal: str, keytab: Path, cache: Path, lifetime: str = "1h") -> None:
        """Have `kinit` put a principal's ticket into a cache."""
        self._run("kinit", "-l", lifetime, "-k", "-t", str(keytab), principal, cache=cache)

    def _admin(self, command: str) -> None:
        self._run("kadmin.local", "-r", self.realm, "-q", command)

    def _run(self, program: str, *arguments: str, cache: Path | None = None) -> None:
        ran = subprocess.run(
            [str(_found(program)), *arguments],
            env={**os.environ, **self.environment(cache)},
            capture_output=True,
            text=True,
            timeout=_DONE_WITHIN,
            check=False,
        )
        # kadmin.local exits with 0 where a single question fails.
        if ran.returncode or f"{program}: " in ran.stderr:
            raise HarnessError(f"{program} {' '.join(arguments)} failed: {ran.stderr.strip()}")

    def _told(self) -> str:
        return (self._folder / "kdc.log").read_text("utf-8", "replace")[-2000:]

    def _configure(self) -> None:
        folder, realm, port = self._folder, self.realm, self._port
        self.configuration.write_text(
            f"""\
[libdefaults]
    default_realm = {realm}
    dns_lookup_realm = false
    dns_lookup_kdc = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
[domain_realm]
    localhost = {realm}
""",
            "utf-8",
        )
        (folder / "kadm5.acl").touch()
        self._profile.write_text(
            f"""\
[kdcdefaults]
    kdc_listen = 127.0.0.1:{port}
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {folder / "principal"}
        key_stash_file = {folder / "stash"}
        acl_file = {folder / "kadm5.acl"}
        max_life = 10h
    }}
[logging]
    kdc = FILE:{folder / "kdc.log"}
    default = FILE:{folder / "kdc.log"}
""",
            "utf-8",
        )


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_FOLDERS}")
