"""put and get: sizes, trees, streams, and what is left when they are interrupted."""

import fcntl
import os
import signal
import stat
import subprocess
import sys
import termios
import unittest

from support import CommandTest, KIB, MIB, digest, wait_until, write_file


class Transfer(CommandTest):
    def setUp(self):
        super().setUp()
        self.up()

    @staticmethod
    def in_pipe(writer):
        """How many bytes nobody has read yet."""
        return int.from_bytes(fcntl.ioctl(writer, termios.FIONREAD, bytes(4)), sys.byteorder)

    def test_round_trips_of_many_sizes(self):
        for size in (0, 1, 511, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, MIB, 8 * MIB + 1, 100 * MIB):
            with self.subTest(size=size):
                source = write_file(self.local("in"), size, seed=size)
                self.tutti("put", source, "/file")
                self.assertEqual(self.json("stat", "/file")["size"], size)
                self.tutti("get", "/file", self.local("out"))
                self.assertEqual(digest(source), digest(self.local("out")))

    def test_shorter_file_replaces_longer(self):
        self.tutti("put", write_file(self.local("long"), 5 * MIB), "/f")
        self.tutti("put", write_file(self.local("short"), 1000), "/f")
        self.assertEqual(self.json("stat", "/f")["size"], 1000)
        self.assertEqual(self.tutti("ls", "-a", "/").split(), ["f"])

    def test_streams(self):
        content = os.urandom(20 * MIB + 3)
        self.run_tutti("put", "-", "/stream", stdin=content)
        out, _ = self.run_tutti("cat", "/stream")
        self.assertEqual(out, content)
        out, _ = self.run_tutti("get", "/stream", "-")
        self.assertEqual(out, content)

    def test_slow_pipe(self):
        reader, writer = os.pipe()
        put = subprocess.Popen(self.command("put", "-", "/slow"), stdin=reader, stderr=subprocess.PIPE)
        self.addCleanup(self._end, put)
        os.close(reader)
        for piece in (b"one ", b"two ", b"three"):
            os.write(writer, piece)
            wait_until(lambda: self.in_pipe(writer) == 0, what="the put to read")
        os.close(writer)
        self.finish(put)
        self.assertEqual(self.tutti("cat", "/slow"), "one two three")

    def test_mode_is_kept(self):
        source = write_file(self.local("in"), 10)
        os.chmod(source, 0o750)
        self.tutti("put", source, "/f")
        self.assertEqual(self.json("stat", "/f")["mode"], "0750")
        self.tutti("get", "/f", self.local("out"))
        self.assertEqual(stat.S_IMODE(os.stat(self.local("out")).st_mode), 0o750)

    def test_trees(self):
        tree = self.local("tree")
        os.makedirs(os.path.join(tree, "sub", "empty"))
        for number, name in enumerate(("a", "b b", "sub/c", "sub/ü")):
            write_file(os.path.join(tree, name), 100000 * number, seed=name)
        os.symlink("a", os.path.join(tree, "link"))
        self.tutti("put", "-r", tree, "/")
        self.tutti("get", "-r", "/tree", self.local("back"))
        self.assertEqual(subprocess.run(["diff", "-r", "--no-dereference", tree, self.local("back")], check=False).returncode, 0)
        self.assertEqual(os.readlink(self.local("back/link")), "a")
        self.fails("put", tree, "/other", says="use -r")
        self.fails("get", "/tree", self.local("no"), says="use -r")

    def test_into_directories(self):
        self.tutti("mkdir", "/d")
        sources = [write_file(self.local(name), 10, seed=name) for name in ("x", "y")]
        self.tutti("put", *sources, "/d")
        self.assertEqual(self.tutti("ls", "/d").split(), ["x", "y"])
        self.fails("put", *sources, "/none", says="not a directory")
        os.mkdir(self.local("out"))
        self.tutti("get", "/d/x", "/d/y", self.local("out"))
        self.assertEqual(sorted(os.listdir(self.local("out"))), ["x", "y"])

    def test_put_does_not_replace_a_directory(self):
        self.tutti("mkdir", "-p", "/d/x")
        self.fails("put", write_file(self.local("x"), 10), "/d", says="is_directory")
        self.assertEqual(self.tutti("ls", "/d").split(), ["x"])

    def test_missing_source(self):
        self.fails("put", self.local("none"), "/f", says="not_found")
        self.fails("get", "/none", self.local("f"), says="not_found")
        self.assertFalse(os.path.exists(self.local("f")))

    def test_interrupted_get_leaves_nothing(self):
        self.tutti("put", write_file(self.local("in"), 300 * MIB), "/big")
        out = self.local("out")
        os.mkdir(out)
        get = self.start("get", "/big", out + "/big")
        wait_until(lambda: os.listdir(out), what="the first bytes")
        get.send_signal(signal.SIGINT)
        get.communicate(timeout=30)
        if get.returncode == 0:
            self.skipTest("the transfer was faster than the signal")
        self.assertEqual(get.returncode, 130)
        self.assertEqual(os.listdir(out), [])

    def test_interrupted_put_leaves_the_old_file(self):
        self.tutti("put", "-", "/f", stdin=b"old")
        reader, writer = os.pipe()
        put = subprocess.Popen(self.command("put", "-", "/f"), stdin=reader, stderr=subprocess.PIPE)
        self.addCleanup(self._end, put)
        os.close(reader)
        os.write(writer, b"new")
        wait_until(lambda: self.in_pipe(writer) == 0, what="the put to read")
        put.send_signal(signal.SIGINT)
        self.finish(put, code=130)
        os.close(writer)
        self.assertEqual(self.tutti("ls", "-a").split(), ["f"])
        self.assertEqual(self.tutti("cat", "/f"), "old")



class ModelledDevice(CommandTest):
    def test_bytes_survive_a_modelled_disk_in_real_time(self):
        self.up("--device", "hdd", servers=2)
        source = write_file(self.local("in"), 6 * MIB, seed=1)
        self.tutti("put", source, "/file")
        self.tutti("down")
        self.tutti("up")  # with an empty page cache, and as configured before
        self.tutti("get", "/file", self.local("out"))
        self.assertEqual(digest(source), digest(self.local("out")))
        self.fails("up", "--device", "tape", code=2, says="hdd")


if __name__ == "__main__":
    unittest.main()
