"""A full disk, of all servers and of one among four: a clear error, and nothing that was there is lost."""

import os
import subprocess
import unittest

from support import MIB, CommandTest, digest, write_file


@unittest.skipUnless(os.geteuid() == 0, "only root can mount the small file systems that this needs")
class FullDisk(CommandTest):
    def mount(self, path, size):
        os.makedirs(path, mode=0o700, exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tutti-test", path],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            self.skipTest("mount is not allowed here: " + done.stderr.decode().strip())
        # Runs before the state directory is removed, and after the daemons have ended.
        self.mounted = path

    def _tidy(self):
        for pid in self.pids().values():
            if self.alive(pid):
                os.kill(pid, 9)
        if getattr(self, "mounted", None):
            subprocess.run(["umount", "-l", self.mounted], check=False)
        super()._tidy()

    def fill_and_check(self):
        kept = write_file(self.local("kept"), 2 * MIB)
        self.tutti("put", kept, "/kept")
        big = write_file(self.local("big"), 200 * MIB, seed="big")
        self.fails("put", big, "/big", says="no_space")
        self.fails("put", big, "/kept", says="no_space")
        self.assertEqual(self.tutti("ls", "-a").split(), ["kept"])
        self.tutti("get", "/kept", self.local("out"))
        self.assertEqual(digest(kept), digest(self.local("out")))
        # The space of the failed put comes back, and the cluster goes on.
        self.check_round_trip(size=2 * MIB)

    def test_all_servers(self):
        self.mount(self.state, "48m")
        self.up()
        self.fill_and_check()

    def test_one_server_among_four(self):
        self.mount(os.path.join(self.state, "data.2"), "8m")
        os.chmod(self.state, 0o700)
        self.up()
        self.fill_and_check()


if __name__ == "__main__":
    unittest.main()
