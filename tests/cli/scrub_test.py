"""Checksums: a byte that changed on a disk is an error that says where, never data; `tutti scrub` finds it."""

import os
import signal
import unittest

from support import KIB, MIB, CommandTest, digest, wait_until, write_file


class Scrub(CommandTest):
    def make_cluster(self, checksums="on"):
        # "on" wherever the test's directory is; "auto" has none in memory.
        self.up("--checksums", checksums, servers=3)
        self.source = write_file(self.local("source"), MIB)
        self.tutti("mkdir", "/d")
        self.tutti("put", self.source, "/d/f")
        self.inode = self.json("stat", "/d/f")["inode"]

    def object_path(self, server, kind="objects"):
        return os.path.join(self.state, f"data.{server}", kind, f"{self.inode % 256:02x}", f"{self.inode:016x}")

    def flip(self, server, offset):
        with open(self.object_path(server), "r+b") as file:
            file.seek(offset)
            byte = file.read(1)
            file.seek(offset)
            file.write(bytes([byte[0] ^ 0x20]))

    def server_of_first_stripe(self):
        layout = self.json("stat", "/d/f")
        return layout["layout"]["first_server"] if "layout" in layout else layout["first_server"]

    def test_flipped_byte_is_found_by_reading_and_by_scrub(self):
        self.make_cluster()
        report = self.json("scrub")
        self.assertEqual(report["rotten"], [])
        self.assertEqual(sum(each["checked"] + each["summed"] for each in report["servers"]), MIB)
        first = self.server_of_first_stripe()
        server = (first + 1) % 3
        self.flip(server, 70000)  # its second stripe: bytes 256 KiB to 320 KiB of the file
        err = self.fails("get", "/d/f", self.local("out"), says="/d/f")
        self.assertIn(f"file offset {256 * KIB}", err)
        self.assertIn(f"data server {server}", err)
        self.assertIn("bit rot", err)
        self.assertFalse(os.path.exists(self.local("out")))
        self.fails("cat", "/d/f", says="bit rot")
        report = self.json("scrub", code=1)
        self.assertEqual(len(report["rotten"]), 1)
        found = report["rotten"][0]
        self.assertEqual(
            (found["path"], found["offset"], found["server"], found["object_offset"]),
            ("/d/f", 256 * KIB, server, 64 * KIB),
        )
        self.assertIn(f"/d/f, offset {256 * KIB}, on data server {server}", self.tutti("scrub", code=1))
        # Writing the block anew cures it.
        with open(self.source, "rb") as file:
            self.tutti("put", "-", "/d/f", stdin=file.read())
        self.tutti("get", "/d/f", self.local("out"))
        self.assertEqual(digest(self.source), digest(self.local("out")))
        # The replaced file's objects go in the background.
        wait_until(lambda: self.json("scrub", code=None)["rotten"] == [], what="removal of the replaced file")

    def test_sums_outlive_a_clean_stop(self):
        self.make_cluster()
        self.tutti("down")
        self.tutti("up")
        server = self.server_of_first_stripe()
        self.flip(server, 5)
        self.fails("get", "/d/f", self.local("out"), says="file offset 0")

    def test_killed_servers_are_no_rot(self):
        self.make_cluster()
        self.tutti("down")
        self.tutti("up")
        other = write_file(self.local("other"), MIB, seed=2)
        put = self.start("put", other, "/d/f")
        for server in range(3):
            self.kill(f"data.{server}")
        self.tutti("up")
        put.communicate(timeout=60)
        self.assertEqual(self.json("scrub")["rotten"], [])
        self.tutti("get", "/d/f", self.local("out"))
        self.assertIn(digest(self.local("out")), (digest(self.source), digest(other)))

    def test_off(self):
        self.make_cluster()
        self.tutti("down")
        self.tutti("up", "--checksums", "off")
        self.assertFalse(os.path.exists(os.path.join(self.state, "data.0", "sums")))
        self.flip(0, 5)
        self.tutti("get", "/d/f", self.local("out"))
        self.assertNotEqual(digest(self.source), digest(self.local("out")))
        self.assertIn("no checksums are kept by data servers 0, 1, 2", self.tutti("scrub"))
        # On again: what is stored now counts as right, also what was written meanwhile.
        self.tutti("put", self.source, "/other")
        self.tutti("down")
        self.tutti("up", "--checksums", "on")
        self.assertEqual(self.json("scrub")["rotten"], [])
        self.tutti("get", "/other", self.local("out"))
        self.assertEqual(digest(self.source), digest(self.local("out")))

    def test_a_server_that_is_away_is_told(self):
        self.make_cluster()
        self.kill("data.1")
        report = self.json("scrub", code=1)
        self.assertIn("error", report["servers"][1])
        self.assertNotIn("error", report["servers"][0])

    def test_removal_takes_the_sums_with_it(self):
        self.make_cluster()
        pid = self.pids()["data.0"]
        os.kill(pid, signal.SIGTERM)  # what is summed is stored
        wait_until(lambda: not self.alive(pid), 20, "the end of data.0")
        self.tutti("up")
        self.assertTrue(os.path.exists(self.object_path(0, os.path.join("sums", "objects"))))
        self.tutti("rm", "/d/f")
        wait_until(lambda: not os.path.exists(self.object_path(0)), 20, "the removal of the object")
        self.assertFalse(os.path.exists(self.object_path(0, os.path.join("sums", "objects"))))

    def test_auto_has_none_in_memory_and_some_on_disks(self):
        self.up(servers=1)
        in_memory = self.state.startswith("/dev/shm")
        self.assertEqual(self.json("scrub")["servers"][0]["checksums"], not in_memory)


if __name__ == "__main__":
    unittest.main()
