"""A cluster across hosts: cut cables, stalling links, strangers at the door."""

import json
import os
import subprocess
import sys
import time
import unittest

from hosts import HERE, PORT, HostsTest, wait_until
from support import MIB, digest, write_file

CUT = 3.0


class Relay:
    """A relay between the client hosts and one data server; see relay.py."""

    def __init__(self, test, server):
        host = test.hosts.add("relay")
        self.process = host.start(
            sys.executable, os.path.join(HERE, "relay.py"), host.address, PORT, test.data[server].address, PORT,
            stdin=subprocess.PIPE,
        )
        self.expect_ok()
        addresses = [f"tcp:{each.address}:{PORT}" for each in test.data]
        addresses[server] = f"tcp:{host.address}:{PORT}"
        for each in test.client_hosts:
            test.furnish(each, data=addresses)

    def expect_ok(self):
        line = self.process.stdout.readline()
        assert line == b"ok\n", line

    def ask(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def tell(self, command):
        self.ask(command)
        self.expect_ok()

    def seen(self, text):
        self.ask(f"seen {text}")
        number = int(self.process.stdout.readline())
        self.expect_ok()
        return number


class AcrossHosts(HostsTest):
    def write_during(self, disturb, size=48 * MIB):
        """Each client host writes a file; once server 2 is at work, `disturb` runs; all bytes must be right."""
        for host in self.data:
            host.limit("200mbit")
        sources = []
        for i, host in enumerate(self.client_hosts):
            sources.append(write_file(os.path.join(host.directory, "source"), size, seed=i))
        writers = [
            self.start_tutti(host, "put", source, f"/file{i}")
            for i, (host, source) in enumerate(zip(self.client_hosts, sources))
        ]
        wait_until(lambda: self.stored_bytes(2) > 4 * MIB, 60, "the writes to be under way")
        self.assertTrue(all(writer.poll() is None for writer in writers), "the writes were too quick for a cut")
        disturb()
        for writer in writers:
            self.finish(writer)
        reader = self.client_hosts[0]
        for i, source in enumerate(sources):
            target = os.path.join(reader.directory, "target")
            self.tutti(reader, "get", f"/file{i}", target)
            self.assertEqual(digest(source), digest(target), f"/file{i}")
            os.unlink(target)

    def test_write_survives_a_host_that_is_cut_off(self):
        def disturb():
            self.data[2].plug(False)
            time.sleep(CUT)
            self.data[2].plug(True)

        self.write_during(disturb)

    def test_write_survives_a_link_that_stalls_and_one_that_breaks(self):
        relay = Relay(self, 2)

        def disturb():
            relay.tell("stall")
            time.sleep(CUT)
            relay.tell("cut")
            time.sleep(0.2)
            relay.tell("go")
            relay.tell("delay 5")

        self.write_during(disturb)

    def test_status_shows_servers_on_all_hosts(self):
        out, _ = self.tutti(self.client_hosts[0], "status", "--json")
        servers = json.loads(out)["servers"]
        self.assertEqual([server["reachable"] for server in servers], [True] * (1 + self.servers), out)


class Encrypted(AcrossHosts):
    """The same where frames are encrypted."""

    settings = 'protect = "encrypt"\n'


class OnTheWire(HostsTest):
    """What somebody between client and server can read."""

    servers = 1
    clients = 1
    word = "SECRETWORDSECRET"

    def seen_on_the_way(self):
        relay = Relay(self, 0)
        self.assertEqual(relay.seen(self.word), 0)
        host = self.client_hosts[0]
        source = self.write(host, "source", self.word.encode() * 65_536)
        self.tutti(host, "put", source, "/file")
        target = os.path.join(host.directory, "target")
        self.tutti(host, "get", "/file", target)
        self.assertEqual(digest(source), digest(target))
        return relay.seen(self.word)

    encrypted = False

    def test_bytes_can_be_read_unless_encrypted(self):
        self.assertEqual(self.seen_on_the_way() == 0, self.encrypted)


class OnAnEncryptedWire(OnTheWire):
    settings = 'protect = "encrypt"\n'
    encrypted = True

    def test_a_client_that_does_not_encrypt_is_told(self):
        host = self.client_hosts[0]
        self.settings = ""
        self.furnish(host)
        _, err = self.tutti(host, "ls", "/", code=1)
        self.assertIn("protect = encrypt", err)


class AtTheDoor(HostsTest):
    servers = 1
    clients = 2

    def settings_for(self, text):
        self.furnish(self.client_hosts[1], settings=text)
        return self.client_hosts[1]

    def check_honest(self):
        host = self.client_hosts[0]
        source = write_file(os.path.join(host.directory, "honest"), 2 * MIB, seed=1)
        self.tutti(host, "put", source, "/honest")

    def test_wrong_key_is_refused_and_logged_once(self):
        stranger = self.client_hosts[1]
        self.write(stranger, "auth.key", os.urandom(32))
        for _ in range(3):
            _, err = self.tutti(stranger, "ls", "/", code=1)
            self.assertIn("wrong key", err)
        log = self.daemons[0].log_text()
        self.assertEqual(log.count("turned away"), 1, log)
        self.assertIn(stranger.address, log)
        self.check_honest()

    def test_without_authentication_nobody_comes_in(self):
        stranger = self.settings_for("")
        _, err = self.tutti(stranger, "ls", "/", code=1)
        self.assertIn("auth = local", err)

    def test_rotated_key_counts_without_a_restart(self):
        fresh = os.urandom(32)
        settings = 'auth = "key"\nauth_keys = ["next.key", "auth.key"]\nowner = "0:0"\n'
        late = self.client_hosts[0]
        early = self.settings_for(settings)
        self.write(early, "next.key", fresh)
        self.tutti(early, "ls", "/")  # knows both, the servers know the old one
        for host in (self.meta, *self.data):
            self.write(host, "auth.key", fresh)
        self.tutti(early, "ls", "/")
        _, err = self.tutti(late, "ls", "/", code=1)
        self.assertIn("wrong key", err)

    def test_garbage_hurts_nobody(self):
        stranger = self.client_hosts[1]
        program = (
            "import os, socket, sys\n"
            "for i in range(200):\n"
            "    peer = socket.create_connection((sys.argv[1], int(sys.argv[2])))\n"
            "    try:\n"
            "        peer.sendall((b'' if i % 2 else b'ttuT\\x01\\x00\\x01\\x00') + os.urandom(4096))\n"
            "    except OSError: pass\n"
            "    peer.close()\n"
        )
        for host in (self.meta, *self.data):
            self.finish(stranger.start(sys.executable, "-c", program, host.address, PORT))
        self.check_honest()
        for daemon in self.daemons:
            self.assertLessEqual(daemon.log_text().count("turned away"), 3)

    def test_silent_crowd_does_not_slow_honest_clients(self):
        host, stranger = self.client_hosts
        source = write_file(os.path.join(host.directory, "large"), 64 * MIB, seed=2)

        def put():
            start = time.monotonic()
            self.tutti(host, "put", source, "/large")
            return time.monotonic() - start

        put()
        quiet, crowded, opened = [], [], 0
        rounds = int(os.environ.get("TUTTI_CROWD_ROUNDS", "4"))
        for _ in range(rounds):
            quiet.append(min(put() for _ in range(3)))
            crowd = stranger.start(
                sys.executable, os.path.join(HERE, "crowd.py"), self.data[0].address, PORT, 10_000,
                stdin=subprocess.PIPE,
            )
            opened = int(crowd.stdout.readline())
            crowded.append(min(put() for _ in range(3)))
            crowd.communicate(timeout=30)
        ratio = min(quiet) / min(crowded)
        print(f"\n{opened} silent connections: honest throughput {ratio:.2f} of that without them "
              f"({64 / min(quiet):.0f} and {64 / min(crowded):.0f} MiB/s)")
        self.assertGreater(opened, 100)


if __name__ == "__main__":
    unittest.main()
