"""What happens to MPI programs when a rank or a server dies in the middle of collective writes."""

import re
import time
import unittest

from launch import LIBRARIES, MpiTest
from support import wait_until

BLOCK, BLOCKS = 3240, 100


class Faults(MpiTest):
    def setUp(self):
        super().setUp()
        self.up()

    def check_file(self, ranks, rounds, name="f"):
        """The content is that of the last round, whole."""
        out, _ = self.run_tutti("cat", "/" + name)
        self.assertEqual(len(out), BLOCK * BLOCKS * ranks)
        for block in range(BLOCKS * ranks):
            letter = ord("a") + (rounds - 1 + block % ranks) % 26
            self.assertEqual(out[block * BLOCK : (block + 1) * BLOCK], bytes([letter]) * BLOCK, f"block {block}")

    def sessions(self):
        return [row["sessions"] for row in self.json("status")["servers"]]

    def begin(self, library, ranks, rounds, patience="60s"):
        """Starts the program and waits until it has written."""
        process = self.start_mpi(library, ranks, "faults", "tutti:/f", rounds, patience=patience)
        seen = b""
        while b"round 2\n" not in seen:
            piece = process.stdout.readline()
            self.assertNotEqual(piece, b"", process.stderr.read() if process.poll() is not None else seen)
            seen += piece
        return process

    def test_a_killed_rank_ends_the_job_and_the_next_one_works(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                before = time.monotonic()
                self.mpi(library, 4, "faults", "tutti:/f", 8, 2, code=None, timeout=60)
                self.assertLess(time.monotonic() - before, 30)
                wait_until(lambda: all(count <= 2 for count in self.sessions()), 10, "the servers to drop its sessions")
                self.mpi(library, 4, "faults", "tutti:/f", 3)
                self.check_file(4, 3)

    def test_a_data_server_that_stays_away_is_the_same_error_everywhere(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                process = self.begin(library, 4, 100000, patience="3s")
                self.kill("data.1")
                before = time.monotonic()
                out, err = process.communicate(timeout=120)
                self.assertLess(time.monotonic() - before, 30)
                self.tutti("up")
                found = re.findall(r"rank (\d) round (\d+) class (\w+)", out.decode())
                self.assertEqual(sorted(rank for rank, _, _ in found), ["0", "1", "2", "3"], out.decode()[-2000:])
                self.assertEqual(len({(number, name) for _, number, name in found}), 1, found)
                self.assertEqual(found[0][2], "MPI_ERR_IO")
                self.assertIn("data server 1", err.decode())

    def test_a_data_server_that_comes_back_costs_only_time(self):
        for library in LIBRARIES:
            with self.subTest(library=library):
                rounds = 300
                process = self.begin(library, 4, rounds)
                self.kill("data.1")
                self.tutti("up")
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 0, err.decode())
                self.assertNotIn(b"class", out)
                self.check_file(4, rounds)

    def test_the_metadata_server_is_not_needed_for_writing(self):
        process = self.begin(LIBRARIES[0], 4, 300)
        self.kill("meta")
        self.tutti("up")
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0, err.decode())
        self.assertNotIn(b"class", out)
        self.check_file(4, 300)


if __name__ == "__main__":
    unittest.main()
