"""Files of a cluster through the C API, for tests that need several clients at once."""

import ctypes
import os

LIBRARY = os.path.join(os.environ["TUTTI_BUILD"], "src", "client", "libtutti.so")


class File:
    """A file, opened by a client of its own."""

    def __init__(self, config, path, flags):
        self.library = ctypes.CDLL(LIBRARY)
        for name in ("tutti_pread", "tutti_pwrite"):
            function = getattr(self.library, name)
            function.restype = ctypes.c_ssize_t
            function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint64]
        self.library.tutti_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32,
                                            ctypes.c_void_p, ctypes.c_void_p]
        self.library.tutti_ftruncate.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
        self.library.tutti_close.argtypes = self.library.tutti_disconnect.argtypes = [ctypes.c_void_p]
        self.client, self.file = ctypes.c_void_p(), ctypes.c_void_p()
        assert self.library.tutti_connect(config.encode(), None, ctypes.byref(self.client)) == 0
        assert self.library.tutti_open(self.client, path.encode(), flags, 0o644, None, ctypes.byref(self.file)) == 0

    def read(self, offset, buffer):
        got = self.library.tutti_pread(self.file, buffer, len(buffer), offset)
        assert got >= 0, got
        return got

    def write(self, offset, content):
        done = self.library.tutti_pwrite(self.file, content, len(content), offset)
        assert done == len(content), done

    def close(self):
        self.library.tutti_close(self.file)
        self.library.tutti_disconnect(self.client)

    def truncate(self, length):
        assert self.library.tutti_ftruncate(self.file, length) == 0
