"""tutti lab mount: a directory on a modelled device, as a program that knows nothing of Tutti sees it."""

import os
import shutil
import unittest

from modelled_mount import CAN_MOUNT, MountTest
from support import MIB, digest, wait_until, write_file


@unittest.skipUnless(CAN_MOUNT, "mounting takes root and /dev/fuse")
class LabMount(MountTest):
    def test_bytes_come_back_and_reach_the_device_before_close_returns(self):
        process = self.mount()
        source = write_file(self.local("source"), 5 * MIB + 17)
        copy = os.path.join(self.place, "copy")
        shutil.copyfile(source, copy)
        self.assertEqual(os.path.getsize(copy), 5 * MIB + 17)
        self.assertEqual(digest(copy), digest(source))
        with open(copy, "wb") as file:  # cuts it
            file.write(b"short")
        self.assertEqual(os.path.getsize(copy), 5)
        with open(copy, "rb") as file:
            self.assertEqual(file.read(), b"short")
        work = self.end(process)
        self.assertGreaterEqual(work["bytes_written"], 5 * MIB)
        # Outer tracks of a disk of 2008: about 100 MB/s, and one file lies in one piece.
        self.assertGreater(work["busy_s"], 0.02)

    def test_names_behave_as_those_of_a_file_system(self):
        process = self.mount("--device", "ssd")
        inside = os.path.join(self.place, "a", "b")
        os.makedirs(inside)
        with open(os.path.join(inside, "one"), "w", encoding="ascii") as file:
            file.write("first")
        os.rename(os.path.join(inside, "one"), os.path.join(self.place, "two"))
        os.link(os.path.join(self.place, "two"), os.path.join(self.place, "three"))
        os.symlink("three", os.path.join(self.place, "four"))
        self.assertEqual(sorted(os.listdir(self.place)), ["a", "four", "three", "two"])
        with open(os.path.join(self.place, "four"), "r+", encoding="ascii") as file:
            self.assertEqual(file.read(), "first")
            os.unlink(os.path.join(self.place, "three"))
            os.unlink(os.path.join(self.place, "two"))
            file.seek(0)
            self.assertEqual(file.read(), "first")  # open files outlive their names
            file.truncate(2)
            file.seek(0)
            self.assertEqual(file.read(), "fi")
        with self.assertRaises(OSError):
            os.rmdir(os.path.join(self.place, "a"))
        os.chmod(inside, 0o700)
        self.assertEqual(os.stat(inside).st_mode & 0o777, 0o700)
        many = [f"file-{i:04}" for i in range(1000)]
        for name in many:
            open(os.path.join(inside, name), "x", encoding="ascii").close()
        self.assertEqual(sorted(os.listdir(inside)), many)
        self.end(process)

    def test_it_is_unmounted_when_it_is_killed(self):
        process = self.mount()
        process.kill()
        process.wait()
        wait_until(lambda: not os.path.ismount(self.place) and not self.broken(), what="unmounting")

    def test_wrong_use_is_told(self):
        self.fails("lab", "mount", self.local("nowhere"), says="nowhere")
        self.fails("lab", "mount", self.scratch, "--device", "tape", code=2, says="tape")
        self.fails("lab", "mount", self.scratch, "--memory", "much", code=2, says="much")


if __name__ == "__main__":
    unittest.main()
