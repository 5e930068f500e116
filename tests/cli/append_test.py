"""A reader at the end of a file that grows: it gets bytes that were written, never zeros in their place."""

import ctypes
import os
import subprocess
import sys
import unittest

from library import File
from support import MIB, CommandTest

HERE = os.path.dirname(os.path.abspath(__file__))


def append(config, path, piece, total):
    file = File(config, path, os.O_WRONLY)
    content = b"\xff" * piece
    for offset in range(0, total, piece):
        file.write(offset, content)
    file.close()


class Growing(CommandTest):
    TOTAL = 48 * MIB

    def read_while_it_grows(self, *up, piece, most):
        self.up(*up)
        config = os.path.join(self.state, "cluster.toml")
        reader = File(config, "/log", os.O_RDWR | os.O_CREAT)
        self.addCleanup(reader.close)
        writer = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), "append", config, "/log",
                                   str(piece), str(self.TOTAL)], cwd=HERE)
        self.addCleanup(writer.wait)
        buffer = ctypes.create_string_buffer(most)
        at = 0  # which is the end until the writer has begun
        while at < self.TOTAL:
            got = reader.read(at, buffer)
            if got == 0 and writer.poll() not in (None, 0):
                self.fail("the writer ended with an error")
            self.assertEqual(buffer.raw[:got].count(b"\xff"), got, f"from {at} on, {got} bytes: some were never written")
            at += got
        self.assertEqual(writer.wait(60), 0)

    def test_small_pieces_in_memory(self):
        self.read_while_it_grows(piece=65536, most=65536 * 2)

    def test_large_reads_in_memory(self):
        self.read_while_it_grows(piece=100_000, most=MIB)

    def test_by_tcp(self):
        self.read_while_it_grows("--tcp", piece=65536, most=MIB)


if __name__ == "__main__":
    if sys.argv[1:2] == ["append"]:
        append(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    else:
        unittest.main()
