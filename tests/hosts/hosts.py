"""Hosts on one machine: network namespaces that hang on a switch, which is a namespace too.

Nothing is added to the machine's own network: addresses and devices exist inside the namespaces only, and
vanish with them."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from support import TUTTI, wait_until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 7300


def ip(*arguments, check=True):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.returncode == 0


def why_not():
    """Why hosts cannot be made here; empty if they can."""
    if os.geteuid() != 0:
        return "needs root: network namespaces stand for hosts"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"needs the command {program} (package iproute2)"
    name = f"tutti-{os.getpid()}-probe"
    if not ip("netns", "add", name, check=False):
        return "this machine does not let root make network namespaces"
    ip("netns", "del", name)
    return ""


class Host:
    def __init__(self, network, name, number):
        self.network = network
        self.name = name
        self.space = f"{network.prefix}-{name}"
        self.address = f"10.77.{number // 250}.{number % 250 + 1}"
        self.directory = os.path.join(network.scratch, name)
        os.mkdir(self.directory, 0o700)

    def command(self, *arguments):
        return ["ip", "netns", "exec", self.space, *map(str, arguments)]

    def start(self, *arguments, **options):
        process = subprocess.Popen(
            self.command(*arguments),
            **{"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
        )
        self.network.processes.append(process)
        return process

    def limit(self, rate):
        """At most this rate out of the host and into it, by tbf."""
        for tc in (["-n", self.space, "qdisc", "replace", "dev", "eth0"],
                   ["-n", self.network.switch, "qdisc", "replace", "dev", self.name]):
            subprocess.run(["tc", *tc, "root", "tbf", "rate", rate, "burst", "256kb", "latency", "50ms"], check=True)

    def plug(self, inserted):
        """Pulls the cable out of the switch, or puts it back."""
        ip("-n", self.network.switch, "link", "set", self.name, "up" if inserted else "down")


class Hosts:
    """All hosts of a test. close() ends their processes and removes every trace."""

    def __init__(self):
        self.prefix = f"tutti-{os.getpid()}-{os.urandom(2).hex()}"
        self.switch = f"{self.prefix}-switch"
        self.scratch = tempfile.mkdtemp(prefix="tutti-hosts-", dir="/dev/shm" if roomy() else None)
        self.hosts = []
        self.processes = []
        try:
            ip("netns", "add", self.switch)
            ip("-n", self.switch, "link", "add", "br0", "type", "bridge")
            ip("-n", self.switch, "link", "set", "br0", "up")
        except Exception:
            self.close()
            raise

    def add(self, name):
        host = Host(self, name, len(self.hosts))
        self.hosts.append(host)
        ip("netns", "add", host.space)
        ip("-n", self.switch, "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host.space)
        ip("-n", self.switch, "link", "set", name, "master", "br0", "up")
        ip("-n", host.space, "address", "add", f"{host.address}/16", "dev", "eth0")
        for device in ("lo", "eth0"):
            ip("-n", host.space, "link", "set", device, "up")
        return host

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        for process in self.processes:
            try:
                process.communicate(timeout=10)
            except (subprocess.TimeoutExpired, ValueError):
                pass
        for host in self.hosts:
            ip("netns", "del", host.space, check=False)
        ip("netns", "del", self.switch, check=False)
        shutil.rmtree(self.scratch, ignore_errors=True)


def roomy():
    return os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free > (2 << 30)


class Daemon:
    """`tutti serve` on a host, started as systemd would: it says on NOTIFY_SOCKET when it is ready."""

    def __init__(self, host, *role):
        self.host = host
        name = role[0] if role[0] != "data" else f"data.{role[2]}"
        if not os.path.exists(os.path.join(host.directory, name)):
            subprocess.run([TUTTI, "--dir", host.directory, "server", "init", name], check=True, capture_output=True)
        self.log = os.path.join(host.directory, "log.txt")
        place = os.path.join(host.directory, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            notify.bind(place)
            notify.settimeout(30)
            config = os.path.join(host.directory, "cluster.toml")
            self.process = host.start(
                TUTTI, "serve", *role, "--config", config, "--log", self.log,
                env={**os.environ, "NOTIFY_SOCKET": place},
            )
            try:
                word = notify.recv(100)
            except socket.timeout:
                self.process.kill()
                raise AssertionError(f"{host.name} is not ready: {self.process.communicate()[1]}") from None
        os.unlink(place)
        assert word == b"READY=1", word

    def log_text(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()


class HostsTest(unittest.TestCase):
    """A cluster with a host for each server, and client hosts."""

    servers = 4
    clients = 4
    settings = ""

    def setUp(self):
        if reason := why_not():
            self.skipTest(reason)
        self.hosts = Hosts()
        self.addCleanup(self.hosts.close)
        self.meta = self.hosts.add("meta")
        self.data = [self.hosts.add(f"data{i}") for i in range(self.servers)]
        self.client_hosts = [self.hosts.add(f"client{i}") for i in range(self.clients)]
        self.secrets = {"key": os.urandom(32), "auth.key": os.urandom(32)}
        for host in (self.meta, *self.data, *self.client_hosts):
            self.furnish(host)
        self.daemons = [Daemon(self.meta, "meta")]
        self.daemons += [Daemon(host, "data", "--index", i) for i, host in enumerate(self.data)]

    def cluster_file(self, data=None, settings=None):
        addresses = data or [f"tcp:{host.address}:{PORT}" for host in self.data]
        listed = ", ".join(f'"{address}"' for address in addresses)
        return (
            f'format = 1\nid = "0x7e57"\nmeta = "tcp:{self.meta.address}:{PORT}"\ndata = [{listed}]\n'
            + (settings if settings is not None else 'auth = "key"\nauth_keys = ["auth.key"]\nowner = "0:0"\n')
            + self.settings
        )

    def furnish(self, host, **changes):
        """Gives a host the cluster file and the keys."""
        for name, value in self.secrets.items():
            self.write(host, name, value)
        self.write(host, "cluster.toml", self.cluster_file(**changes).encode())

    @staticmethod
    def write(host, name, content):
        path = os.path.join(host.directory, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(content)
        return path

    def tutti_command(self, host, *arguments):
        return [TUTTI, "--cluster", os.path.join(host.directory, "cluster.toml"), *map(str, arguments)]

    def start_tutti(self, host, *arguments):
        return host.start(*self.tutti_command(host, *arguments))

    def tutti(self, host, *arguments, code=0, timeout=120):
        process = self.start_tutti(host, *arguments)
        return self.finish(process, code, timeout)

    def finish(self, process, code=0, timeout=120):
        out, err = process.communicate(timeout=timeout)
        self.assertEqual(process.returncode, code, err.decode(errors="replace"))
        return out.decode(errors="replace"), err.decode(errors="replace")

    def stored_bytes(self, index):
        """What a data server has written so far."""
        total = 0
        for directory, _, names in os.walk(os.path.join(self.data[index].directory, f"data.{index}")):
            for name in names:
                try:
                    total += os.stat(os.path.join(directory, name)).st_blocks * 512
                except FileNotFoundError:
                    pass
        return total


__all__ = ["HERE", "PORT", "Daemon", "HostsTest", "Hosts", "wait_until"]
