"""Tests on a directory whose device is a modelled one: `tutti lab mount`."""

import json
import os
import signal
import subprocess

from support import CommandTest

CAN_MOUNT = os.geteuid() == 0 and os.path.exists("/dev/fuse")


class MountTest(CommandTest):
    def mount(self, *arguments):
        self.place = self.local("mounted")
        os.mkdir(self.place)
        process = self.start("lab", "mount", self.place, "--json", *arguments)
        self.addCleanup(self._unmount)  # before the process is ended and the directory removed
        self.assertIn(b"mounted", process.stdout.readline())
        return process

    def _unmount(self):
        if os.path.ismount(self.place) or self.broken():
            subprocess.run(["umount", "-l", self.place], check=False)

    def broken(self):
        try:
            os.stat(self.place)
        except OSError:
            return True
        return False

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        out, _ = self.finish(process, timeout=30)
        self.assertFalse(os.path.ismount(self.place))
        return json.loads(out)
