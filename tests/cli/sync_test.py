"""Disks that fail and power that is lost: who wrote is told what did not stay, and what was removed does not come back."""

import ctypes
import os
import shutil
import subprocess
import unittest

from support import MIB, CommandTest, wait_until

LIBRARY = os.path.join(os.environ["TUTTI_BUILD"], "src", "client", "libtutti.so")


class Handle:
    """A file that a client of its own holds open."""

    def __init__(self, state, path):
        self.library = ctypes.CDLL(LIBRARY)
        self.library.tutti_pwrite.restype = ctypes.c_ssize_t
        self.library.tutti_pwrite.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
        self.library.tutti_open.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint32,
                                            ctypes.c_void_p, ctypes.c_void_p]
        self.library.tutti_fsync.argtypes = self.library.tutti_close.argtypes = [ctypes.c_void_p]
        self.library.tutti_disconnect.argtypes = [ctypes.c_void_p]
        self.client, self.file = ctypes.c_void_p(), ctypes.c_void_p()
        config = os.path.join(state, "cluster.toml").encode()
        assert self.library.tutti_connect(config, None, ctypes.byref(self.client)) == 0
        flags = os.O_RDWR | os.O_CREAT
        assert self.library.tutti_open(self.client, path, flags, 0o644, None, ctypes.byref(self.file)) == 0

    def write(self, offset, size):
        done = self.library.tutti_pwrite(self.file, os.urandom(size), size, offset)
        assert done == size, done

    def sync(self):
        return self.library.tutti_fsync(self.file)

    def close(self):
        self.library.tutti_close(self.file)
        self.library.tutti_disconnect(self.client)


@unittest.skipUnless(os.geteuid() == 0, "only root can mount a disk that fails")
class LoopDisk(CommandTest):
    """The data server's disk is a loop device on a file in a tmpfs, which may be smaller than the disk promises. A copy of
    the file is what a loss of power leaves."""

    def setUp(self):
        super().setUp()
        self.mounted = []
        self.thin = self.local("thin")
        self.disk = os.path.join(self.state, "data.0")

    def mount(self, *arguments):
        done = subprocess.run(["mount", *arguments], capture_output=True, check=False)
        if done.returncode != 0:
            self.skipTest("mount is not allowed here: " + done.stderr.decode().strip())
        self.mounted.append(arguments[-1])

    def make_disk(self, room):
        for path in (self.thin, self.disk):
            os.makedirs(path, mode=0o700, exist_ok=True)
        os.chmod(self.state, 0o700)
        self.mount("-t", "tmpfs", "-o", f"size={room},mode=0700", "tutti-test", self.thin)
        image = os.path.join(self.thin, "image")
        with open(image, "wb") as file:
            file.truncate(200 * MIB)
        made = subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", image], capture_output=True, check=False)
        if made.returncode != 0:
            self.skipTest("no ext4 here: " + made.stderr.decode().strip())
        self.mount("-o", "loop", image, self.disk)

    def _tidy(self):
        for pid in self.pids().values():
            if self.alive(pid):
                os.kill(pid, 9)
        for path in reversed(self.mounted):
            subprocess.run(["umount", "-l", path], check=False)
        super()._tidy()

    def after_loss_of_power(self):
        """Where the disk is mounted as it would be found."""
        copy, place = os.path.join(self.thin, "copy"), self.local("after")
        shutil.copyfile(os.path.join(self.thin, "image"), copy)
        os.makedirs(place)
        self.mount("-o", "loop,ro", copy, place)
        return place

    def objects(self, disk):
        return [name for _, _, names in os.walk(os.path.join(disk, "objects")) for name in names]

    def test_removed_objects_do_not_come_back(self):
        self.make_disk("900m")
        self.up(servers=1)
        handle = Handle(self.state, b"/f")
        handle.write(0, MIB)
        self.kill("data.0")
        self.tutti("up")
        self.assertEqual(handle.sync(), 0)
        handle.close()
        before = self.after_loss_of_power()
        self.assertEqual(len(self.objects(before)), 1, "the name that the process before made was synced")
        subprocess.run(["umount", before], check=True)
        os.rmdir(before)
        self.mounted.remove(before)
        self.tutti("rm", "/f")
        wait_until(lambda: self.json("fsck")["orphans"] == 0, what="the removal of the object")
        self.assertEqual(self.objects(self.disk), [])
        self.assertEqual(self.objects(self.after_loss_of_power()), [], "its record is gone: nobody would remove it again")

    def test_a_failed_sync_fails_for_all_who_wrote(self):
        self.make_disk("40m")
        self.up(servers=1)
        a, b = Handle(self.state, b"/f"), Handle(self.state, b"/f")
        self.addCleanup(a.close)
        self.addCleanup(b.close)
        a.write(0, 30 * MIB)
        b.write(30 * MIB, 30 * MIB)
        self.assertLess(a.sync(), 0, "the disk has no room for it")
        self.assertLess(b.sync(), 0, "nor for this")
        self.assertLess(b.sync(), 0)
        self.assertLess(a.sync(), 0, "a repetition writes nothing")
        # Another process of the server knows it, too.
        self.kill("data.0")
        self.tutti("up")
        self.assertLess(b.sync(), 0)
        # The disk gets what it promised; what is written again stays.
        subprocess.run(["mount", "-o", "remount,size=200m", self.thin], check=True)
        a.write(0, MIB)
        self.assertEqual(a.sync(), 0)
        self.assertLess(b.sync(), 0, "what A wrote is not what B wrote")
        b.write(30 * MIB, MIB)
        self.assertEqual(b.sync(), 0)


if __name__ == "__main__":
    unittest.main()
