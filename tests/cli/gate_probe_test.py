"""Probes in reality: --gate backoff and lock+probe on a modelled disk, beside somebody who writes without asking."""

import os
import subprocess
import sys
import unittest

from modelled_mount import CAN_MOUNT, MountTest
from support import wait_until

# Writes 64 MB again and again until it is ended.
INTRUDER = """
import os, sys
while True:
    with open(sys.argv[1], "wb") as file:
        for _ in range(64):
            file.write(bytes(1000000))
"""
WRITER = "import sys; open(sys.argv[1], 'wb').write(b'x' * 3000000)"


@unittest.skipUnless(CAN_MOUNT, "mounting takes root and /dev/fuse")
class Probes(MountTest):
    def setUp(self):
        super().setUp()
        self.mount()
        self.log = self.local("log")
        self.environment = {**os.environ, "TUTTI_LOG": "info", "XDG_STATE_HOME": self.local("state-home")}

    def calibrate(self):
        return self.json("gate", "calibrate", self.place, env=self.environment)

    def popen(self, command, log):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment)
        self.addCleanup(self._end, process)
        return process

    def intruder(self):
        path = os.path.join(self.place, "intruder")
        process = self.popen([sys.executable, "-c", INTRUDER, path], subprocess.DEVNULL)
        wait_until(lambda: os.path.exists(path), what="the intruder")
        return process

    def writer(self, mode, *arguments):
        path = os.path.join(self.place, "checkpoint")
        command = ["run", "--gate", mode, "--gate-dir", self.place, *arguments, "--", sys.executable, "-c", WRITER, path]
        with open(self.log, "wb") as log:
            return self.popen(self.command(*command), log)

    def told(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def assert_written(self, process):
        self.assertEqual(process.wait(timeout=120), 0, self.told())
        self.assertEqual(os.path.getsize(os.path.join(self.place, "checkpoint")), 3000000)
        self.assertEqual([name for name in os.listdir(self.place) if name.startswith(".tutti")], [])

    def test_a_calibration_is_kept_and_used(self):
        measured = self.calibrate()
        self.assertLess(measured["threshold"], measured["rate"])
        self.assertLessEqual(measured["slowest"], measured["rate"])
        with open(measured["path"], encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines(), [measured["resource"], measured["backoff"]])
        self.assert_written(self.writer("backoff"))
        self.assertIn("probings in", self.told())
        self.assertNotIn("was never measured", self.told())

    def test_without_one_the_user_is_told_what_to_do(self):
        self.assert_written(self.writer("backoff", "--gate-limit", "100ms"))
        self.assertIn(f"tutti gate calibrate {self.place}", self.told())

    def test_a_job_backs_off_from_somebody_who_does_not_ask(self):
        self.calibrate()
        intruder = self.intruder()
        job = self.writer("backoff")
        wait_until(lambda: "probing again" in self.told(), what="backing off")
        intruder.kill()
        intruder.wait()
        self.assert_written(job)

    def test_a_limit_ends_the_backing_off(self):
        self.calibrate()
        self.intruder()
        self.assert_written(self.writer("backoff", "--gate-limit", "10ms"))
        self.assertIn("going on although the file system is busy", self.told())

    def test_a_turn_and_a_probe(self):
        self.calibrate()
        self.tutti("gate", "serve", "--background")
        intruder = self.intruder()
        job = self.writer("lock+probe")
        wait_until(lambda: "probing again" in self.told(), what="backing off")
        holders = self.json("gate", "status")["jobs"]
        self.assertEqual([each["state"] for each in holders], ["granted"])
        intruder.kill()
        intruder.wait()
        self.assert_written(job)
        self.assertEqual(self.json("gate", "status")["jobs"], [])

    def test_a_probe_leaves_no_file_when_its_process_is_killed(self):
        self.calibrate()
        self.intruder()
        job = self.writer("backoff")
        probes = lambda: [name for name in os.listdir(self.place) if name.startswith(".tutti-probe")]
        wait_until(lambda: probes() or "probing again" in self.told(), what="a probe")
        job.kill()
        job.wait()
        for name in probes():  # as if a minute had passed
            os.utime(os.path.join(self.place, name), (0, 0))
        old = probes()
        self.calibrate()
        self.assertEqual([name for name in probes() if name in old], [])

    def test_what_cannot_be_is_told(self):
        self.fails("gate", "calibrate", self.local("nowhere"), says="nowhere")


if __name__ == "__main__":
    unittest.main()
