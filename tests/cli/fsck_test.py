"""tutti fsck: finds what does not belong together, and repairs it when asked to."""

import os
import shutil
import unittest

from support import MIB, CommandTest, digest, write_file


class Fsck(CommandTest):
    def kinds(self, report):
        return sorted({each["problem"] for each in report["problems"]})

    def make_cluster(self):
        self.up(servers=3)
        self.source = write_file(self.local("source"), MIB)
        self.tutti("mkdir", "/d")
        self.tutti("put", self.source, "/d/f")
        self.tutti("put", "-", "/small", stdin=b"small")

    def stray(self, server, number, size=1000):
        directory = os.path.join(self.state, f"data.{server}", "objects", f"{number % 256:02x}")
        os.makedirs(directory, mode=0o700, exist_ok=True)
        path = os.path.join(directory, f"{number:016x}")
        write_file(path, size)
        return path

    def test_whole_cluster_running_and_stopped(self):
        self.make_cluster()
        for _ in range(2):
            report = self.json("fsck")
            self.assertEqual(report["problems"], [])
            self.assertEqual((report["files"], report["directories"]), (2, 2))
            self.assertEqual(report["bytes"], MIB + 5)
            self.tutti("down") if self.alive(self.pids()["meta"]) else None

    def test_object_without_a_file(self):
        self.make_cluster()
        path = self.stray(1, 0x1999)
        report = self.json("fsck", code=1)
        self.assertEqual(self.kinds(report), ["object without file"])
        self.assertEqual(report["problems"][0]["server"], 1)
        self.assertEqual(report["problems"][0]["bytes"], 1000)
        self.assertTrue(os.path.exists(path), "nothing is changed without --repair")
        self.assertEqual(self.json("fsck", "--repair")["repaired"], 1)
        self.assertFalse(os.path.exists(path))
        self.tutti("get", "/d/f", self.local("out"))
        self.assertEqual(digest(self.source), digest(self.local("out")))

    def test_object_outside_the_layout_offline(self):
        self.make_cluster()
        self.tutti("put", "--stripe-count", 1, self.source, "/one")
        layout = self.json("stat", "/one")
        inode = layout["inode"]
        self.tutti("down")
        holders = [
            server
            for server in range(3)
            if os.path.exists(os.path.join(self.state, f"data.{server}/objects/{inode % 256:02x}/{inode:016x}"))
        ]
        self.assertEqual(len(holders), 1)
        self.stray((holders[0] + 1) % 3, inode)
        self.assertEqual(self.kinds(self.json("fsck", code=1)), ["object outside the layout"])
        self.json("fsck", "--repair")
        self.assertEqual(self.json("fsck")["problems"], [])

    def test_store_without_its_objects(self):
        self.make_cluster()
        self.tutti("down")
        shutil.rmtree(os.path.join(self.state, "data.1", "objects"))
        os.mkdir(os.path.join(self.state, "data.1", "objects"), 0o700)
        report = self.json("fsck", code=1)
        self.assertEqual(self.kinds(report), ["empty store"])
        self.assertTrue(any("/d/f" in each["text"] for each in report["doubts"]))

    def test_server_that_cannot_be_asked(self):
        self.make_cluster()
        self.kill("data.2")
        os.rename(os.path.join(self.state, "data.2"), self.local("aside"))
        self.assertEqual(self.kinds(self.json("fsck", code=1)), ["server not asked"])

    def test_swapped_stores_offline(self):
        self.make_cluster()
        self.tutti("down")
        os.rename(os.path.join(self.state, "data.0"), self.local("aside"))
        os.rename(os.path.join(self.state, "data.1"), os.path.join(self.state, "data.0"))
        os.rename(self.local("aside"), os.path.join(self.state, "data.1"))
        self.assertIn("wrong store", self.kinds(self.json("fsck", code=1)))

    def test_while_files_come_and_go(self):
        self.make_cluster()
        os.mkdir(self.local("many"))
        for number in range(200):
            write_file(self.local(f"many/{number:03}"), 100_000, seed=number)
        for _ in range(3):
            putting = self.start("put", "-r", self.local("many"), "/many")
            self.assertEqual(self.json("fsck")["problems"], [])
            self.finish(putting)
            removing = self.start("rm", "-r", "/many")
            self.assertEqual(self.json("fsck")["problems"], [])
            self.finish(removing)


if __name__ == "__main__":
    unittest.main()
