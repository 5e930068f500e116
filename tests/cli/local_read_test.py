"""Clients that read many short runs of objects in memory by themselves get the bytes of the file, in its order."""

import ctypes
import os
import unittest

from library import File
from support import MIB, CommandTest

BLOCK, STRIDE = 3240, 9 * 3240  # runs that cross stripes here and there
LENGTH = 96 * MIB


class View:
    """Blocks of a file at a fixed distance, as the C API has them."""

    def __init__(self, file, displacement):
        self.library = file.library
        self.library.tutti_view_strided.argtypes = [
            ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64,
            ctypes.c_void_p]
        self.library.tutti_view_read.restype = ctypes.c_ssize_t
        self.library.tutti_view_read.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
        self.library.tutti_view_free.argtypes = [ctypes.c_void_p]
        self.view = ctypes.c_void_p()
        made = self.library.tutti_view_strided(
            file.file, displacement, BLOCK, None, 0, STRIDE, ctypes.byref(self.view))
        assert made == 0, made

    def read(self, offset, length):
        buffer = ctypes.create_string_buffer(length)
        got = self.library.tutti_view_read(self.view, buffer, length, offset)
        assert got >= 0, got
        return buffer.raw[:got]

    def close(self):
        self.library.tutti_view_free(self.view)


class LocalReads(CommandTest):
    def begin(self):
        self.up()
        self.config = os.path.join(self.state, "cluster.toml")
        self.content = bytearray(os.urandom(MIB) * (LENGTH // MIB))
        for mebibyte in range(LENGTH // MIB):  # no two alike
            self.content[mebibyte * MIB:mebibyte * MIB + 4] = mebibyte.to_bytes(4, "little")
        source = self.local("in")
        with open(source, "wb") as file:
            file.write(self.content)
        self.tutti("put", source, "/f")

    def file(self):
        opened = File(self.config, "/f", os.O_RDWR)
        self.addCleanup(opened.close)
        return opened

    def view(self, file, displacement):
        made = View(file, displacement)
        self.addCleanup(made.close)
        return made

    def expected(self, displacement, offset, length, end=LENGTH):
        """What a read of the view has to return: up to the last byte that is in the file."""
        parts, done = [], 0
        while done < length:
            block, within = divmod(offset + done, BLOCK)
            begin = displacement + block * STRIDE + within
            step = min(BLOCK - within, length - done)
            if begin >= end:
                break
            parts.append(bytes(self.content[begin:min(begin + step, end)]))
            if begin + step > end:
                break
            done += step
        return b"".join(parts)

    def test_runs_are_read_as_they_lie_in_the_file(self):
        self.begin()
        view = self.view(self.file(), 1234)
        data = (LENGTH - 1234) // STRIDE * BLOCK
        for _ in range(3):  # asked for, allowed, and asked for again
            for offset, length in ((0, data), (BLOCK // 2, 9 * MIB), (777, 100 * BLOCK), (MIB, 5 * MIB)):
                self.assertEqual(view.read(offset, length), self.expected(1234, offset, length), (offset, length))

    def test_a_read_ends_where_the_file_ends(self):
        self.begin()
        view = self.view(self.file(), 0)
        data = LENGTH // STRIDE * BLOCK
        for _ in range(3):
            self.assertEqual(view.read(0, data), self.expected(0, 0, data))
            self.assertEqual(view.read(MIB, data), self.expected(0, MIB, data), "more than there is")

    def test_a_file_that_another_client_cuts_is_as_long_as_it_is_then(self):
        self.begin()
        file, other = self.file(), self.file()
        view = self.view(file, 0)
        data = LENGTH // STRIDE * BLOCK
        for end in (LENGTH, LENGTH // 2, LENGTH // 3 + 1, 5 * MIB):
            other.truncate(end)
            for _ in range(2):
                self.assertEqual(view.read(0, data), self.expected(0, 0, data, end), end)


if __name__ == "__main__":
    unittest.main()
