"""Random programs of MPI-IO calls, each a seed, compared byte for byte with a model.

TUTTI_MPI_SEEDS=10000 runs more of them, TUTTI_MPI_SEED=n only that one and tells every step."""

import os
import unittest

from launch import LIBRARIES, MpiTest

RANKS = 9
SEEDS = int(os.environ.get("TUTTI_MPI_SEEDS", "50"))
ONLY = int(os.environ.get("TUTTI_MPI_SEED", "0"))
AT_ONCE = 50  # in one start of the program


class Exerciser(MpiTest):
    def exercise(self, library, first, count, *steps):
        out = self.mpi(library, RANKS, "exercise", "tutti:/e", first, count, *steps, code=None, timeout=300)
        if steps:
            print(out)
        self.assertIn("all as it must be\n", out, f"{library}: {out[-2000:]}")

    def test_programs_do_what_the_model_says(self):
        self.up()
        for library in LIBRARIES:
            with self.subTest(library=library):
                if ONLY:
                    self.exercise(library, ONLY, 1, 1)
                    continue
                for first in range(1, SEEDS + 1, AT_ONCE):
                    self.exercise(library, first, min(AT_ONCE, SEEDS + 1 - first))
                self.assertEqual(self.tutti("ls", "/").split(), [], "files are left over")


if __name__ == "__main__":
    unittest.main()
