"""Storage that is missing, empty, swapped, foreign or old: the daemons refuse it and say what to do."""

import os
import re
import shutil
import unittest

from support import MIB, CommandTest, digest, write_file


class Identity(CommandTest):
    def store(self, name):
        return os.path.join(self.state, name)

    def make_cluster(self, servers=3):
        self.up(servers=servers)
        self.source = write_file(self.local("source"), 3 * MIB + 17)
        self.tutti("put", self.source, "/f")

    def check_whole(self):
        self.tutti("get", "/f", self.local("out"))
        self.assertEqual(digest(self.source), digest(self.local("out")))

    def test_missing_and_empty_store(self):
        self.make_cluster()
        self.tutti("down")
        os.rename(self.store("data.1"), self.local("aside"))
        err = self.fails("up", says="there is no object store in")
        self.assertIn("tutti server init", err)
        self.assertFalse(os.path.exists(self.store("data.1")), "nothing is made in its place")
        os.mkdir(self.store("data.1"), 0o700)
        self.fails("up", says="there is no object store in")
        self.assertEqual(os.listdir(self.store("data.1")), [])
        os.rmdir(self.store("data.1"))
        os.rename(self.local("aside"), self.store("data.1"))
        self.tutti("up")
        self.check_whole()

    def test_swapped_stores(self):
        self.make_cluster()
        self.tutti("down")
        os.rename(self.store("data.0"), self.local("aside"))
        os.rename(self.store("data.1"), self.store("data.0"))
        os.rename(self.local("aside"), self.store("data.1"))
        self.fails("up", says="this is the store of data server 1")

    def test_store_of_another_cluster(self):
        self.make_cluster()
        self.tutti("down")
        other = os.path.join(self.scratch, "other")
        self.tutti("up", "--servers", 3, directory=other)
        self.tutti("down", directory=other)
        shutil.rmtree(self.store("data.2"))
        shutil.copytree(os.path.join(other, "data.2"), self.store("data.2"))
        self.fails("up", says="belongs to cluster")

    def test_new_store_needs_to_be_asked_for(self):
        self.make_cluster()
        self.tutti("down")
        kept = self.local("kept")
        os.rename(self.store("data.1"), kept)
        self.tutti("server", "init", "data.1")
        err = self.fails("up", says="the cluster's record names store")
        self.assertIn("server init data.1 --replace", err)
        # The right one again.
        shutil.rmtree(self.store("data.1"))
        shutil.copytree(kept, self.store("data.1"))
        self.tutti("up")
        self.check_whole()
        self.tutti("down")
        # It is lost for good: what was on it reads as zeros, and fsck says so.
        shutil.rmtree(self.store("data.1"))
        self.tutti("server", "init", "data.1", "--replace")
        self.tutti("up")
        self.check_round_trip(name="new")
        self.assertIn("/f has", self.tutti("fsck"))
        self.tutti("down")
        # The old one may not come back.
        shutil.rmtree(self.store("data.1"))
        shutil.copytree(kept, self.store("data.1"))
        self.fails("up", says="the cluster's record names store")

    def test_store_is_not_made_twice(self):
        self.make_cluster(servers=1)
        self.tutti("down")
        self.fails("server", "init", "data.0", says="holds an object store already")
        self.fails("server", "init", "meta", says="holds a store already")
        self.fails("server", "init", "data.7", says="the cluster has no daemon 'data.7'")
        self.tutti("up")
        self.check_whole()

    def test_metadata_missing(self):
        self.make_cluster()
        self.tutti("down")
        os.rename(self.store("meta"), self.local("aside"))
        err = self.fails("up", says="there is no store in")
        self.assertIn("tutti meta restore", err)
        self.tutti("server", "init", "meta")
        self.fails("up", says="holds the objects of metadata store")
        shutil.rmtree(self.store("meta"))
        os.rename(self.local("aside"), self.store("meta"))
        self.tutti("up")
        self.check_whole()

    def make_old_copy(self):
        """Old metadata in the place of the new ones, by hand."""
        self.make_cluster()
        self.tutti("down")
        shutil.copytree(self.store("meta"), self.local("old"))
        self.tutti("up")
        secret = write_file(self.local("secret"), 380_000, seed="secret")
        self.tutti("put", secret, "/secret")

    def test_older_metadata(self):
        self.make_old_copy()
        self.tutti("down")
        shutil.rmtree(self.store("meta"))
        shutil.copytree(self.local("old"), self.store("meta"))
        err = self.fails("up", says="the metadata are older than the objects of data server")
        self.assertIn("tutti meta restore --epoch 1", err)

    def test_older_metadata_under_running_data_servers(self):
        self.make_old_copy()
        self.kill("meta")
        shutil.rmtree(self.store("meta"))
        shutil.copytree(self.local("old"), self.store("meta"))
        self.fails("up", says="the metadata are older than the objects of data server")

    def test_client_with_the_servers_in_another_order(self):
        self.make_cluster()
        with open(os.path.join(self.state, "cluster.toml"), encoding="utf-8") as file:
            text = file.read()
        listed = re.search(r"data = \[(.*?)\]", text, re.S).group(1)
        names = re.findall(r'"[^"]*"', listed)
        wrong = text.replace(listed, ", ".join(reversed(names)))
        wrong = wrong.replace("unix:run/", f"unix:{self.state}/run/")
        path = self.local("cluster.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(wrong)
        for arguments in (["get", "/f", self.local("out")], ["put", self.source, "/f"]):
            err = self.fails("--cluster", path, *arguments, says="is data server")
            self.assertIn("another order", err)
        self.check_whole()


class BackupAndRestore(CommandTest):
    def inode(self, path):
        return self.json("stat", path)["inode"]

    def test_restored_metadata_never_meet_the_objects_of_newer_files(self):
        self.up(servers=3)
        old = write_file(self.local("old"), 2 * MIB, seed="old")
        self.tutti("put", old, "/old")
        self.tutti("meta", "backup", self.local("backup.mdb"))
        secret = write_file(self.local("secret"), 380_000, seed="secret")
        self.tutti("put", secret, "/secret")
        newest = self.inode("/secret")
        self.fails("meta", "restore", self.local("backup.mdb"), says="runs already")
        self.tutti("down")
        shutil.rmtree(os.path.join(self.state, "meta"))
        report = self.json("meta", "restore", self.local("backup.mdb"))
        self.assertEqual((report["files"], report["epoch"]), (1, 1))
        self.tutti("up")
        self.assertEqual(self.tutti("ls").split(), ["old"])
        self.tutti("put", "-", "/new", stdin=b"eleven bytes"[:11])
        self.assertEqual(self.json("stat", "/new")["size"], 11)
        self.assertGreater(self.inode("/new"), newest)
        self.assertEqual(self.inode("/new") >> 40, 1)
        self.tutti("get", "/old", self.local("out"))
        self.assertEqual(digest(old), digest(self.local("out")))

        found = self.json("fsck", code=1)
        self.assertEqual({each["problem"] for each in found["problems"]}, {"object newer than the backup"})
        self.assertEqual(sum(each["bytes"] for each in found["problems"]), 380_000)
        self.json("fsck", "--repair", code=1)
        self.assertEqual(self.json("fsck", "--repair", "--remove-newer")["problems"], [])
        self.assertEqual(self.json("fsck")["problems"], [])

    def test_backup_while_files_are_made(self):
        self.up(servers=1)
        os.mkdir(self.local("many"))
        for number in range(300):
            write_file(self.local(f"many/{number:03}"), 10, seed=number)
        putting = self.start("put", "-r", self.local("many"), "/many")
        reports = [self.json("meta", "backup", self.local("backup.mdb")) for _ in range(5)]
        self.finish(putting)
        self.tutti("down")
        self.tutti("meta", "restore", self.local("backup.mdb"))
        self.tutti("up")
        found = self.json("fsck", code=None)
        self.assertEqual(found["files"], reports[-1]["files"])
        self.assertLessEqual({each["problem"] for each in found["problems"]}, {"object newer than the backup"})

    def test_restoring_twice_begins_another_epoch(self):
        self.up(servers=1)
        self.tutti("meta", "backup", self.local("backup.mdb"))
        for epoch in (1, 2):
            self.tutti("down")
            self.assertEqual(self.json("meta", "restore", self.local("backup.mdb"))["epoch"], epoch)
            self.tutti("up")
            self.tutti("put", "-", "/f", stdin=b"x")
        # Without the metadata of before, only the data servers know.
        self.tutti("down")
        shutil.rmtree(os.path.join(self.state, "meta"))
        self.tutti("meta", "restore", self.local("backup.mdb"))
        self.fails("up", says="--epoch 3")
        self.tutti("meta", "restore", self.local("backup.mdb"), "--epoch", 3)
        self.tutti("up")

    def test_what_is_no_backup_is_refused(self):
        self.up(servers=1)
        self.tutti("put", "-", "/f", stdin=b"kept")
        other = os.path.join(self.scratch, "other")
        self.tutti("up", "--servers", 1, directory=other)
        self.tutti("meta", "backup", self.local("foreign.mdb"), directory=other)
        self.tutti("down", directory=other)
        self.tutti("down")
        self.fails("meta", "restore", self.local("foreign.mdb"), says="holds metadata of cluster")
        self.fails("meta", "restore", write_file(self.local("noise"), 100_000), says="not a metadata store")
        self.fails("meta", "restore", self.local("nothing"), says="nothing")
        self.tutti("up")
        self.assertEqual(self.tutti("cat", "/f"), "kept")


if __name__ == "__main__":
    unittest.main()
