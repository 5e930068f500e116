"""Names and what they stand for: what cp, ls and df do, and files that are open while they lose their names."""

import ctypes
import os
import pty
import re
import select
import signal
import stat
import subprocess
import threading
import time
import unittest

from support import GIB, KIB, MIB, CommandTest, digest, wait_until, write_file

LIBRARY = os.path.join(os.environ["TUTTI_BUILD"], "src", "client", "libtutti.so")


class Program:
    """A program that uses the C API."""

    def __init__(self, state):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.tutti_error.restype = ctypes.c_char_p
        for name in ("tutti_pread", "tutti_pwrite"):
            function = getattr(self.library, name)
            function.restype = ctypes.c_ssize_t
            function.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
        self.library.tutti_close.argtypes = [ctypes.c_void_p]
        self.library.tutti_fsync.argtypes = [ctypes.c_void_p]
        self.client = ctypes.c_void_p()
        self.check(
            self.library.tutti_connect(os.path.join(state, "cluster.toml").encode(), None, ctypes.byref(self.client))
        )

    def check(self, result):
        if result < 0:
            raise OSError(-result, self.library.tutti_error().decode())
        return result

    def open(self, path, flags):
        file = ctypes.c_void_p()
        self.check(self.library.tutti_open(self.client, path.encode(), flags, 0o644, None, ctypes.byref(file)))
        return file

    def read(self, file, length, offset=0):
        buffer = ctypes.create_string_buffer(length)
        count = self.check(self.library.tutti_pread(file, buffer, length, offset))
        return buffer.raw[:count]

    def write(self, file, content, offset=0):
        return self.check(self.library.tutti_pwrite(file, content, len(content), offset))

    def sync(self, file):
        self.check(self.library.tutti_fsync(file))

    def close(self, file):
        self.check(self.library.tutti_close(file))

    def disconnect(self):
        self.library.tutti_disconnect(self.client)


class NamesTest(CommandTest):
    def objects(self):
        found = []
        for name in os.listdir(self.state):
            if name.startswith("data."):
                for where, _, files in os.walk(os.path.join(self.state, name, "objects")):
                    found += [os.path.join(where, file) for file in files]
        return found


class OpenWhileRemoved(NamesTest):
    def setUp(self):
        super().setUp()
        self.up(servers=2)
        self.program = Program(self.state)
        self.addCleanup(self.program.disconnect)

    def test_file_lives_until_its_last_close(self):
        content = os.urandom(300 * KIB)
        file = self.program.open("/f", os.O_RDWR | os.O_CREAT)
        self.program.write(file, content)
        self.tutti("rm", "/f")
        self.assertEqual(self.tutti("ls", "-a"), "")
        self.assertEqual(self.program.read(file, len(content)), content)
        self.program.write(file, b"more", len(content))
        self.program.sync(file)
        self.assertEqual(self.program.read(file, 4, len(content)), b"more")
        self.assertEqual(len(self.objects()), 2)
        self.program.close(file)
        wait_until(lambda: not self.objects(), what="the removal of the objects")

    def test_renamed_over(self):
        file = self.program.open("/f", os.O_RDWR | os.O_CREAT)
        self.program.write(file, b"old" * 100000)
        self.tutti("put", "-", "/g", stdin=b"new")
        self.tutti("mv", "/g", "/f")
        self.assertEqual(self.tutti("cat", "/f"), "new")
        self.assertEqual(self.program.read(file, 300000), b"old" * 100000)
        self.program.close(file)
        wait_until(lambda: len(self.objects()) == 1, what="the removal of the objects")
        self.assertEqual(self.tutti("cat", "/f"), "new")

    def test_restart_of_the_metadata_server(self):
        content = os.urandom(300 * KIB)
        file = self.program.open("/f", os.O_RDWR | os.O_CREAT)
        self.program.write(file, content)
        self.tutti("rm", "/f")
        self.kill("meta")
        self.tutti("up")
        self.assertEqual(self.program.read(file, len(content)), content)
        self.program.write(file, b"more", len(content))
        self.program.close(file)

    def test_reader_that_waits_gets_it_all(self):
        source = write_file(self.local("in"), 20 * MIB)
        self.tutti("put", source, "/f")
        get = self.start("get", "/f", "-")
        got = os.read(get.stdout.fileno(), 1000)
        self.tutti("rm", "/f")
        rest, _ = self.finish(get)
        with open(source, "rb") as file:
            self.assertEqual(got + rest, file.read())
        wait_until(lambda: not self.objects(), what="the removal of the objects")


class ClientsThatDie(NamesTest):
    def setUp(self):
        super().setUp()
        self.up(servers=2)
        self.tutti("down")
        path = os.path.join(self.state, "cluster.toml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r'open_grace = "\d+s"', 'open_grace = "1s"', text))
        self.tutti("up")

    def test_what_a_dead_client_had_open_goes(self):
        self.tutti("put", write_file(self.local("in"), 20 * MIB), "/f")
        get = self.start("get", "/f", "-")
        os.read(get.stdout.fileno(), 1000)
        self.tutti("rm", "/f")
        self.assertEqual(len(self.objects()), 2)
        get.kill()
        wait_until(lambda: not self.objects(), what="the removal of the objects")

    def test_killed_put_leaves_nothing(self):
        reader, writer = os.pipe()
        put = subprocess.Popen(self.command("put", "-", "/f"), stdin=reader, stderr=subprocess.PIPE)
        self.addCleanup(self._end, put)
        os.close(reader)
        piece = os.urandom(MIB)
        for _ in range(40):
            os.write(writer, piece)
        wait_until(self.objects, what="the first bytes")
        put.kill()
        put.wait()
        os.close(writer)
        self.assertEqual(self.tutti("ls", "-a"), "")
        wait_until(lambda: not self.objects(), what="the removal of the objects")


class AsCpDoes(NamesTest):
    def setUp(self):
        super().setUp()
        self.up(servers=2)
        self.source = write_file(self.local("in"), 100 * KIB)
        self.tutti("put", self.source, "/f")

    def content(self, path):
        with open(path, "rb") as file:
            return file.read()

    def test_get_onto_a_symbolic_link_writes_to_its_target(self):
        write_file(self.local("target"), 10)
        os.symlink("target", self.local("link"))
        self.tutti("get", "/f", self.local("link"))
        self.assertTrue(os.path.islink(self.local("link")))
        self.assertEqual(digest(self.local("target")), digest(self.source))
        os.symlink("nowhere", self.local("dangling"))
        self.fails("get", "/f", self.local("dangling"), says="does not exist")
        self.assertFalse(os.path.exists(self.local("nowhere")))

    def test_get_keeps_hard_links_and_modes(self):
        write_file(self.local("one"), 10)
        os.chmod(self.local("one"), 0o640)
        os.link(self.local("one"), self.local("two"))
        self.tutti("get", "/f", self.local("one"))
        self.assertEqual(os.stat(self.local("one")).st_nlink, 2)
        self.assertEqual(digest(self.local("two")), digest(self.source))
        self.assertEqual(stat.S_IMODE(os.stat(self.local("one")).st_mode), 0o640)
        write_file(self.local("alone"), 10)
        os.chmod(self.local("alone"), 0o600)
        self.tutti("get", "/f", self.local("alone"))
        self.assertEqual(stat.S_IMODE(os.stat(self.local("alone")).st_mode), 0o600)
        self.assertEqual([name for name in os.listdir(self.scratch) if "tutti-get" in name], [])

    def test_get_onto_a_pipe_feeds_it(self):
        pipe = self.local("pipe")
        os.mkfifo(pipe)
        got = []
        reader = threading.Thread(target=lambda: got.append(self.content(pipe)))
        reader.start()
        self.tutti("get", "/f", pipe)
        reader.join(30)
        self.assertTrue(stat.S_ISFIFO(os.lstat(pipe).st_mode))
        self.assertEqual(got, [self.content(self.source)])

    def test_get_onto_a_device_leaves_the_device(self):
        null = self.local("null")
        try:
            os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
            os.close(os.open(null, os.O_WRONLY))
        except PermissionError:
            self.skipTest("only root can make a device")
        self.tutti("get", "/f", null)
        self.assertTrue(stat.S_ISCHR(os.lstat(null).st_mode))

    def test_put_over_a_symbolic_link_writes_to_its_target(self):
        self.tutti("put", "-", "/target", stdin=b"old")
        self.tutti("ln", "-s", "target", "/link")
        self.tutti("put", "-", "/link", stdin=b"new")
        self.assertEqual(self.tutti("cat", "/target"), "new")
        self.assertEqual(self.json("stat", "/link")["type"], "symlink")
        self.tutti("ln", "-s", "/nowhere", "/dangling")
        self.fails("put", "-", "/dangling", says="does not exist", stdin=b"x")

    def test_put_keeps_mode_and_hard_links(self):
        self.tutti("chmod", "0640", "/f")
        self.tutti("put", "-", "/f", stdin=b"new")
        self.assertEqual(self.json("stat", "/f")["mode"], "0640")
        self.tutti("ln", "/f", "/twin")
        self.tutti("put", "-", "/f", stdin=b"newer")
        self.assertEqual(self.tutti("cat", "/twin"), "newer")
        self.assertEqual(self.json("stat", "/f")["links"], 2)
        self.fails("put", "-", "/f", "--stripe-size", "1MiB", says="striping", stdin=b"x")

    @unittest.skipUnless(os.geteuid() == 0, "root is needed to become another user")
    def test_put_over_a_file_that_must_not_be_written_fails(self):
        os.chmod(self.scratch, 0o755)
        os.chmod(self.state, 0o755)
        self.tutti("put", "-", "/theirs", stdin=b"old")
        self.tutti("chmod", "0777", "/")

        def as_nobody(*arguments, **options):
            return subprocess.run(
                self.command(*arguments), user=65534, group=65534, extra_groups=[], capture_output=True, check=False, **options
            )

        if as_nobody("ls").returncode != 0:
            self.skipTest("another user cannot reach the cluster here")
        done = as_nobody("put", "-", "/theirs", input=b"new")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"permission", done.stderr)
        self.assertEqual(self.tutti("cat", "/theirs"), "old")
        self.assertEqual(as_nobody("put", "-", "/mine", input=b"old").returncode, 0)
        self.assertEqual(as_nobody("chmod", "0444", "/mine").returncode, 0)
        self.assertEqual(as_nobody("put", "-", "/mine", input=b"new").returncode, 1)
        self.assertEqual(self.json("stat", "/mine")["mode"], "0444")
        self.assertEqual(self.tutti("cat", "/mine"), "old")
        self.tutti("put", "-", "/mine", stdin=b"by root")
        found = self.json("stat", "/mine")
        self.assertEqual((found["mode"], found["uid"]), ("0444", 65534))

    def test_holes_are_not_copied(self):
        sparse = self.local("sparse")
        with open(sparse, "wb") as file:
            file.write(b"head")
            file.seek(700 * GIB + 12345)
            file.write(os.urandom(100 * KIB))
            file.truncate(1024 * GIB)
        began = time.monotonic()
        self.tutti("put", sparse, "/sparse", timeout=60)
        self.tutti("get", "/sparse", self.local("out"), timeout=60)
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(self.json("stat", "/sparse")["size"], 1024 * GIB)
        out = os.stat(self.local("out"))
        self.assertEqual(out.st_size, 1024 * GIB)
        self.assertLess(out.st_blocks * 512, 2 * MIB)
        self.assertLess(sum(os.stat(path).st_blocks * 512 for path in self.objects()), 2 * MIB)
        with open(sparse, "rb") as old, open(self.local("out"), "rb") as new:
            for offset in (0, 700 * GIB, 700 * GIB + 64 * KIB, 1024 * GIB - 100):
                old.seek(offset)
                new.seek(offset)
                self.assertEqual(old.read(200 * KIB), new.read(200 * KIB), offset)


class AsLsDoes(NamesTest):
    def on_a_terminal(self, *arguments):
        """What the command writes to a terminal."""
        parent, child = pty.openpty()
        process = subprocess.Popen(self.command(*arguments), stdin=child, stdout=child, stderr=subprocess.PIPE)
        os.close(child)
        out = b""
        while select.select([parent], [], [], 30)[0]:
            try:
                piece = os.read(parent, 4096)
            except OSError:
                break
            if not piece:
                break
            out += piece
        os.close(parent)
        process.communicate(timeout=30)
        return out

    def test_control_characters(self):
        self.up(servers=1)
        name = "a\x1b]0;owned\x07b\nc\u009bd"
        self.tutti("put", "-", "/" + name, stdin=b"x")
        self.tutti("put", "-", "/plain é", stdin=b"x")
        self.assertEqual(self.tutti("ls"), name + "\nplain é\n")
        for arguments in (["ls"], ["ls", "-l"], ["stat", "/" + name]):
            out = self.on_a_terminal(*arguments)
            self.assertNotRegex(out, rb"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]|\xc2\x9b")
            self.assertIn(rb"\033", out)
            self.assertIn(rb"\007", out)
        self.assertIn("plain é".encode(), self.on_a_terminal("ls"))
        err = self.fails("cat", "/no\x1b[31m", says="not_found")
        self.assertNotIn("\x1b", err)

    def test_length_of_a_file_whose_server_is_away(self):
        self.up(servers=2)
        # What the metadata server does not know by itself it has to ask for.
        self.tutti("put", write_file(self.local("in"), 200 * KIB), "/f")
        self.tutti("put", "-", "/one", "--stripe-count", "1", "--first-server", "0", stdin=b"abc")
        self.tutti("down")
        self.tutti("up")
        self.kill("data.1")
        rows = {row["name"]: row for row in self.json("ls", "/")}
        self.assertIsNone(rows["f"]["size"])
        self.assertIn("data server 1", rows["f"]["size_unknown"])
        self.assertEqual(rows["one"]["size"], 3)
        listed = {line.split()[-1]: line.split()[4] for line in self.tutti("ls", "-l").splitlines()}
        self.assertEqual(listed, {"f": "?", "one": "3"})
        self.assertIn("unknown", self.tutti("stat", "/f"))
        self.assertIsNone(self.json("stat", "/f")["size"])
        self.tutti("up")
        self.assertEqual(self.json("stat", "/f")["size"], 200 * KIB)


@unittest.skipUnless(os.geteuid() == 0, "only root can mount the small file systems that this needs")
class AsDfDoes(CommandTest):
    def _tidy(self):
        for pid in self.pids().values():
            if self.alive(pid):
                os.kill(pid, signal.SIGKILL)
        for path in getattr(self, "mounted", []):
            subprocess.run(["umount", "-l", path], check=False)
        super()._tidy()

    def mount(self, path, size):
        os.makedirs(path, mode=0o700, exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tutti-test", path], capture_output=True, check=False
        )
        if done.returncode != 0:
            self.skipTest("mount is not allowed here: " + done.stderr.decode().strip())
        self.mounted = getattr(self, "mounted", []) + [path]

    def test_servers_that_share_a_disk_share_its_space(self):
        self.mount(self.state, "64m")
        self.up(servers=4)
        space = self.json("df")
        self.assertEqual(space["total"], 64 * MIB)
        self.assertLessEqual(space["free"], 64 * MIB)
        self.assertGreater(space["free"], 32 * MIB)

    def test_the_fullest_disk_decides(self):
        self.mount(os.path.join(self.state, "data.0"), "64m")
        self.mount(os.path.join(self.state, "data.1"), "8m")
        os.chmod(self.state, 0o700)
        self.up(servers=2)
        space = self.json("df")
        self.assertEqual(space["total"], 72 * MIB)
        self.assertLessEqual(space["free"], 16 * MIB)
        filler = os.open(os.path.join(self.state, "data.1", "filler"), os.O_WRONLY | os.O_CREAT)
        try:
            while True:
                os.write(filler, bytes(64 * KIB))
        except OSError:
            os.close(filler)
        self.assertEqual(self.json("df")["free"], 0)
        self.assertIn("100%", self.tutti("df"))


if __name__ == "__main__":
    unittest.main()
