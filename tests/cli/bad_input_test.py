"""Bad input: each gives a clear error and loses nothing."""

import os
import random
import re
import socket
import struct
import unittest

from support import CommandTest, wait_until


class BadInput(CommandTest):
    def edit_config(self, change):
        path = os.path.join(self.state, "cluster.toml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(change(text))

    def test_unknown_key_in_the_configuration(self):
        self.up(servers=1)
        self.tutti("down")
        self.edit_config(lambda text: text.replace("policy =", "polcy ="))
        err = self.fails("up", says="unknown key 'polcy'; did you mean 'policy'?")
        self.assertRegex(err, r"cluster\.toml:\d+:")
        self.fails("ls", says="unknown key")
        self.edit_config(lambda text: text.replace("polcy =", "policy ="))
        self.tutti("up")

    def test_value_out_of_range_in_the_configuration(self):
        self.up(servers=1)
        self.tutti("down")
        self.edit_config(lambda text: re.sub(r"stripe_size = \d+", "stripe_size = 0", text))
        self.fails("up", says="stripe_size: 0 B is out of range")

    def test_newer_configuration_is_refused(self):
        self.up(servers=1)
        self.tutti("down")
        self.edit_config(lambda text: text.replace("format = 1", "format = 2"))
        self.fails("up", says="version: ")
        self.fails("ls", says="format 2")

    def test_newer_store_is_refused(self):
        self.up(servers=1)
        self.tutti("put", "-", "/f", stdin=b"kept")
        self.tutti("down")
        path = os.path.join(self.state, "data.0", "format")
        with open(path, "rb") as file:
            old = file.read()
        with open(path, "wb") as file:
            file.write(old.replace(b"version 2", b"version 99"))
        err = self.fails("up", says="version: data.0:")
        self.assertIn("log", err)
        with open(path, "wb") as file:
            file.write(old)
        self.tutti("up")
        self.assertEqual(self.tutti("cat", "/f"), "kept")

    def test_path_with_dots(self):
        self.up(servers=1)
        for command in (["ls", "/a/../b"], ["cat", "/.."], ["mkdir", "/../x"], ["rm", "-r", "/a/.."]):
            self.fails(*command, says="..")
        self.fails("put", "-", "/../etc/passwd", says="..", stdin=b"x")

    def test_name_of_256_bytes(self):
        self.up(servers=1)
        self.tutti("mkdir", "/" + "n" * 255)
        self.tutti("put", "-", "/" + "f" * 255, stdin=b"x")
        self.fails("mkdir", "/" + "n" * 256, says="name_too_long")
        self.fails("put", "-", "/" + "f" * 256, says="name_too_long", stdin=b"x")
        self.fails("mv", "/" + "f" * 255, "/" + "g" * 256, says="name_too_long")
        self.assertEqual(self.tutti("cat", "/" + "f" * 255), "x")

    def test_stripe_size_of_0(self):
        self.fails("up", "--stripe-size", "0", code=2, says="--stripe-size")
        self.assertFalse(os.path.exists(self.state))
        self.up(servers=1)
        self.fails("put", "-", "/f", "--stripe-size", "0", code=2, says="--stripe-size", stdin=b"x")
        self.fails("mkdir", "/d", "--stripe-size", "0", code=2, says="--stripe-size")
        self.fails("mkdir", "/d", "--stripe-size", "100", code=2, says="--stripe-size")
        self.assertEqual(self.tutti("ls", "-a"), "")

    def test_unknown_policy(self):
        self.fails("up", "--policy", "fastest", code=2, says="fcfs")
        self.assertFalse(os.path.exists(self.state))

    def test_wrong_usage_exits_2_everywhere(self):
        self.up(servers=1)
        for command in (
            ["--patience", "soon", "ls"],
            ["put", "f", ""],
            ["put", "-", "/"],
            ["put", "-", "/f", "--stripe-count", "many"],
            ["get", ""],
            ["ls", ""],
            ["mkdir", "-m", "u+q", "/d"],
            ["chmod", "u+q", "/"],
            ["chown", "no-such-user-here", "/"],
            ["truncate", "-s", "long", "/f"],
            ["demo", "--rounds", "0"],
            ["demo", "--policy", "fastest"],
            ["lab", "run", "none"],
            ["stat"],
            ["status", "--xml"],
        ):
            with self.subTest(command=command):
                self.fails(*command, code=2)
        self.assertEqual(self.tutti("ls", "-a"), "")

    def test_configuration_without_end(self):
        _, err = self.run_tutti("--cluster", "/dev/zero", "ls", code=1, timeout=20)
        self.assertIn("right file", err)

    def test_up_twice(self):
        self.up(servers=2)
        before = self.pids()
        self.fails("up", says="tutti down")
        self.assertEqual(self.pids(), before)
        self.assertTrue(self.json("status")["healthy"])

    def test_down_when_nothing_runs(self):
        self.fails("down", says="no cluster runs")
        self.up(servers=1)
        self.tutti("down")
        self.fails("down", says="no cluster runs")

    def test_number_of_servers_is_fixed(self):
        self.up(servers=2)
        self.tutti("down")
        self.fails("up", "--servers", "3", says="has 2")

    def test_unreadable_state_directory(self):
        self.up(servers=1)
        self.tutti("down")
        config = os.path.join(self.state, "cluster.toml")
        os.chmod(self.state, 0o000)
        self.addCleanup(os.chmod, self.state, 0o700)
        self.fails("up", says="permission")
        self.fails("serve", "meta", "--config", config, says="permission")
        os.chmod(self.state, 0o755)
        self.fails("up", says="chmod 700")
        os.chmod(self.state, 0o700)
        self.tutti("up")

    def test_state_directory_that_is_something_else(self):
        os.mkdir(self.state, 0o700)
        with open(os.path.join(self.state, "thesis.tex"), "w", encoding="ascii") as file:
            file.write("x")
        self.fails("up", says="thesis.tex")
        self.assertEqual(os.listdir(self.state), ["thesis.tex"])
        self.fails("up", says="not_directory", directory=os.path.join(self.state, "thesis.tex"))

    def test_state_directory_with_a_long_name(self):
        self.fails("up", says="Unix socket", directory=os.path.join(self.scratch, "d" * 100))

    def test_key_that_others_can_read(self):
        self.up(servers=1)
        self.tutti("down")
        key = os.path.join(self.state, "key")
        os.chmod(key, 0o644)
        self.fails("up", says="key")
        os.chmod(key, 0o600)
        with open(key, "wb") as file:
            file.write(b"short")
        self.fails("up", says="key")

    def test_wrong_key_serves_nothing(self):
        self.up(servers=2)
        self.tutti("put", "-", "/f", stdin=b"secret" * 50000)
        self.kill("data.0")
        key = os.path.join(self.state, "key")
        with open(key, "rb") as file:
            good = file.read()
        with open(key, "wb") as file:
            file.write(bytes(reversed(good)))
        self.tutti("up")
        self.fails("--patience", "2s", "cat", "/f", says="capability")
        self.kill("data.0")
        with open(key, "wb") as file:
            file.write(good)
        self.tutti("up")
        self.assertEqual(len(self.tutti("cat", "/f")), 300000)

    def test_server_number_out_of_range(self):
        self.up(servers=1)
        self.fails("serve", "data", "--index", "7", "--config", os.path.join(self.state, "cluster.toml"), says="7")

    def test_second_daemon_in_one_directory(self):
        self.up(servers=1)
        self.fails("serve", "meta", "--config", os.path.join(self.state, "cluster.toml"), says="runs already")


class Garbage(CommandTest):
    """Truncated or random messages to each daemon's socket cost their sender the connection, and nobody else."""

    MAGIC = 0x54757474

    def send(self, name, data):
        """Sends and waits until the daemon has had enough, or half a second of silence."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(0.5)
            peer.connect(os.path.join(self.state, "run", name + ".sock"))
            try:
                peer.sendall(data)
                while peer.recv(65536):
                    pass
            except (socket.timeout, ConnectionError, BrokenPipeError):
                pass

    def header(self, kind, length, version=1):
        return struct.pack("<IBBHIIQ", self.MAGIC, version, 0, kind, length, 0, 1)

    def messages(self):
        chance = random.Random(4)
        yield b""
        yield b"GET / HTTP/1.1\r\n\r\n"
        yield self.header(1, 100)[:10]  # half a header
        yield self.header(1, 100)  # no payload
        yield self.header(1, 0xFFFFFFFF) + b"x" * 100
        yield self.header(1, 64, version=200) + bytes(64)
        for kind in (1, 64, 65, 80, 81, 100, 110, 0x8000, 0xFFFF):
            yield self.header(kind, 64) + bytes(chance.randrange(256) for _ in range(64))
        for _ in range(20):
            yield bytes(chance.randrange(256) for _ in range(chance.randrange(1, 4000)))

    def test_cluster_survives(self):
        self.up(servers=2)
        self.tutti("put", "-", "/before", stdin=b"before")
        pids = self.pids()
        for name in pids:
            for message in self.messages():
                self.send(name, message)
        self.check_round_trip()
        self.assertEqual(self.tutti("cat", "/before"), "before")
        self.assertEqual(self.pids(), pids)
        for name, pid in pids.items():
            self.assertTrue(self.alive(pid), name)
        status = self.json("status")
        self.assertTrue(status["healthy"])
        wait_until(lambda: all(s["sessions"] <= 1 for s in self.json("status")["servers"]), what="the end of sessions")


if __name__ == "__main__":
    unittest.main()
