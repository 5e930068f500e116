"""tutti lab run coord-spread --real: its MPI ranks, and that nothing of it stays behind. The figures are not tested."""

import array
import glob
import os
import signal
import subprocess
import tempfile
import time
import unittest

from launch import LAUNCH, LIBRARIES, MpiTest
from support import KIB, TUTTI, wait_until

RANKS, ROUNDS, REQUEST, AT_ONCE = 4, 3, 64 * KIB, 2
RANK_PROGRAM = os.path.join(os.path.dirname(os.path.realpath(TUTTI)), "tutti-bench-")


def rounds_of(name):
    """Ranks that do rounds on a file whose name holds this."""
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read().decode(errors="replace").split("\0")
        except OSError:  # it has ended meanwhile
            continue
        if words[0].startswith(RANK_PROGRAM) and words[1:2] == ["rounds"] and name in words[2]:
            found.append(path)
    return found


class Rounds(MpiTest):
    def begin(self, library, rounds=ROUNDS, wrong_at=None):
        """A program of the experiment, on a file for three rounds, whose every word is its own offset but for a wrong one."""
        self.up("--device", "hdd")
        words = array.array("Q", range(0, RANKS * ROUNDS * REQUEST * AT_ONCE, 8))
        if wrong_at is not None:
            words[wrong_at // 8] ^= 1
        with open(self.local("in"), "wb") as file:
            words.tofile(file)
        self.tutti("put", self.local("in"), "/lab-test")
        words = [*LAUNCH[library], "-n", RANKS, RANK_PROGRAM + library, "rounds", "tutti:/lab-test", rounds, REQUEST, AT_ONCE]
        process = subprocess.Popen(
            self.command("run", "--", *words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(library, None),
            start_new_session=True,
        )
        self.addCleanup(self._end_all, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def start_line(self):
        return b"%d %d\n" % (time.monotonic_ns() + 100_000_000, 100_000_000)

    def test_every_round_is_reported_once(self):
        process = self.begin(LIBRARIES[0])
        out, err = process.communicate(self.start_line(), timeout=60)
        self.assertEqual(process.returncode, 0, err.decode())
        times = [float(word) for word in out.split()]
        self.assertEqual(len(times), ROUNDS)
        self.assertTrue(all(0 < seconds < 60 for seconds in times), times)

    def test_a_file_that_is_too_short_is_an_error(self):
        process = self.begin(LIBRARIES[-1], rounds=ROUNDS + 1)
        _, err = process.communicate(self.start_line(), timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("too short", err.decode())

    def test_wrong_bytes_are_noticed(self):
        process = self.begin(LIBRARIES[0], wrong_at=5 * REQUEST + 8)
        _, err = process.communicate(self.start_line(), timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("wrong bytes", err.decode())

    def test_ranks_end_when_nobody_starts_them(self):
        process = self.begin(LIBRARIES[0])
        process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(rounds_of("lab-test"), [])


class RealSpread(MpiTest):
    @staticmethod
    def leftovers():
        return glob.glob("/dev/shm/tutti-lab-*") + glob.glob(os.path.join(tempfile.gettempdir(), "tutti-lab-*"))

    def test_interrupted_it_leaves_nothing(self):
        before = set(self.leftovers())
        lab = self.start("lab", "run", "coord-spread", "--real")
        self.addCleanup(self.interrupt, lab)
        wait_until(lambda: len(rounds_of("program-")) == 16, 60, "16 ranks")
        fresh = set(self.leftovers()) - before
        lab.send_signal(signal.SIGINT)
        self.finish(lab, code=130, timeout=60)
        self.assertEqual(rounds_of("program-"), [])
        self.assertNotEqual(fresh, set())
        self.assertEqual(set(self.leftovers()) & fresh, set())

    def test_without_mpi_it_says_what_to_install(self):
        self.fails("lab", "run", "coord-spread", "--real", says="openmpi-bin", env={"PATH": "/nonexistent"})


if __name__ == "__main__":
    unittest.main()
