"""Clients that write objects in memory by themselves: what was acknowledged is there, whatever happens around them."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import unittest

from library import File
from support import KIB, MIB, CommandTest, wait_until

HERE = os.path.dirname(os.path.abspath(__file__))
BLOCK = 256 * KIB


def fill(number):
    return bytes([number % 255 + 1]) * BLOCK


def write_on(config, path, blocks):
    """Writes one block after the other and says which it has written."""
    file = File(config, path, os.O_RDWR)
    for number in range(blocks):
        file.write(number * BLOCK, fill(number))
        print(number, flush=True)
    file.close()


class LocalWrites(CommandTest):
    def begin(self):
        self.up()
        self.config = os.path.join(self.state, "cluster.toml")

    def file(self, path, flags=os.O_RDWR | os.O_CREAT):
        opened = File(self.config, path, flags)
        self.addCleanup(opened.close)
        return opened

    def writer(self, path, blocks):
        child = subprocess.Popen(
            [sys.executable, "-B", os.path.abspath(__file__), "write", self.config, path, str(blocks)],
            cwd=HERE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child

    def expect(self, reader, number):
        buffer = ctypes.create_string_buffer(BLOCK)
        self.assertEqual(reader.read(number * BLOCK, buffer), BLOCK, f"block {number}")
        self.assertEqual(buffer.raw, fill(number), f"block {number}")

    def test_what_is_written_after_a_cut_by_another_client_is_there(self):
        self.begin()
        one, other = self.file("/f"), self.file("/f")
        for turn in range(200):
            for number in range(4):
                one.write(number * BLOCK, fill(turn + number))
            other.truncate(turn % 3 * BLOCK // 2)
            one.write(3 * BLOCK, fill(turn))
            buffer = ctypes.create_string_buffer(BLOCK)
            self.assertEqual(other.read(3 * BLOCK, buffer), BLOCK)
            self.assertEqual(buffer.raw, fill(turn), f"turn {turn}")
            self.assertEqual(other.read(2 * BLOCK, buffer), BLOCK)
            self.assertEqual(buffer.raw, bytes(BLOCK), f"turn {turn}: what was cut has come back")

    def test_a_data_server_that_is_killed_loses_nothing_that_was_acknowledged(self):
        self.begin()
        self.file("/f")
        writer = self.writer("/f", 600)
        for number in range(600):
            line = writer.stdout.readline()
            self.assertEqual(line.strip(), str(number))
            if number in (100, 300):
                self.kill("data.1")
                self.tutti("up")
        self.assertEqual(writer.wait(60), 0)
        reader = self.file("/f", os.O_RDONLY)
        for number in range(600):
            self.expect(reader, number)

    def test_a_writer_that_was_stopped_writes_nothing_into_what_was_removed_meanwhile(self):
        self.begin()
        self.file("/f")
        writer = self.writer("/f", 100_000)
        for _ in range(20):
            writer.stdout.readline()
        writer.send_signal(signal.SIGSTOP)
        self.tutti("rm", "/f")
        self.tutti("put", __file__, "/f")
        writer.kill()
        writer.wait()
        self.tutti("get", "/f", os.path.join(self.scratch, "copy"))
        with open(__file__, "rb") as here, open(os.path.join(self.scratch, "copy"), "rb") as copy:
            self.assertEqual(copy.read(), here.read())

    def test_a_process_that_may_not_make_long_files_is_not_ended_for_it(self):
        self.begin()
        self.file("/f")
        child = subprocess.run(
            [sys.executable, "-B", os.path.abspath(__file__), "write", self.config, "/f", "64"], cwd=HERE,
            stdout=subprocess.PIPE, text=True, timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB)))
        self.assertEqual(child.returncode, 0)
        reader = self.file("/f", os.O_RDONLY)
        for number in range(64):
            self.expect(reader, number)

    def test_the_space_of_a_removed_file_comes_back(self):
        self.begin()
        file = File(self.config, "/f", os.O_RDWR | os.O_CREAT)
        for number in range(64):
            file.write(number * BLOCK, fill(number))
        full = os.statvfs(self.state).f_bavail
        self.tutti("rm", "/f")
        file.close()
        wait_until(lambda: os.statvfs(self.state).f_bavail - full > 48 * BLOCK // os.statvfs(self.state).f_frsize,
                   what="the space of the removed file")


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write_on(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        unittest.main()
