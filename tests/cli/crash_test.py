"""kill -9 of each kind of daemon during a put of 1 GiB: after `tutti up` the put goes on and the file is intact."""

import os
import unittest

from support import GIB, MIB, CommandTest, digest, wait_until, write_file


class Crash(CommandTest):
    SIZE = int(os.environ.get("TUTTI_CRASH_BYTES", GIB))

    def stored(self):
        """Bytes that the data servers hold so far."""
        total = 0
        for directory, _, files in os.walk(self.state):
            if "/data." in directory:
                for name in files:
                    try:
                        total += os.stat(os.path.join(directory, name)).st_blocks * 512
                    except FileNotFoundError:
                        pass
        return total

    def crash_during_put(self, *victims):
        self.up()
        source = write_file(self.local("in"), self.SIZE)
        put = self.start("put", source, "/big")
        wait_until(lambda: self.stored() > 64 * MIB or put.poll() is not None, 60, "the first 64 MiB")
        for victim in victims:
            self.kill(victim)
        self.assertIsNone(put.poll(), "the put ended before the crash")
        self.tutti("up")
        self.finish(put, timeout=120)
        expected = digest(source)
        os.unlink(source)
        self.tutti("get", "/big", self.local("out"))
        self.assertEqual(digest(self.local("out")), expected)

    def test_data_server(self):
        self.crash_during_put("data.2")

    def test_metadata_server(self):
        self.crash_during_put("meta")

    def test_all_at_once(self):
        self.crash_during_put("meta", "data.0", "data.1", "data.2", "data.3")

    def test_patience_ends_with_a_clear_error(self):
        self.up()
        self.tutti("put", "-", "/f", stdin=b"x" * MIB)
        self.kill("data.1")
        self.fails("--patience", "200ms", "cat", "/f", says="data.1")
        self.tutti("up")
        self.assertEqual(len(self.tutti("cat", "/f")), MIB)


if __name__ == "__main__":
    unittest.main()
