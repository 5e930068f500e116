"""Collective calls of files that are not on Tutti, by our plans: the same as the MPI library does them by itself."""

import os
import unittest

from conformance_test import OTHER_REFERENCE, Conformance
from launch import LIBRARIES

STRIPED = "striping_unit=4096;striping_factor=3"


class Foreign(Conformance):
    test_same_as_the_library_on_a_local_directory = None  # that of the base class

    def on_a_local_directory(self, library, ranks, plan):
        where = self.local(f"{library}-{ranks}-{plan or 'library'}")
        files, logs = os.path.join(where, "files"), os.path.join(where, "logs")
        os.makedirs(files)
        os.makedirs(logs)
        environment = {"CONFORM_REFERENCE": "1", "TUTTI_LOG": "info"}
        if plan:
            environment["TUTTI_HINTS"] = f"tutti_collective={plan};{STRIPED}"
        told = self.mpi(library, ranks, "conform", files, logs, env=environment)
        self.assertEqual(f"by {plan}" in told, plan is not None, told[-2000:])
        return files, logs

    def test_plans_move_the_same_bytes_on_another_file_system(self):
        self.up()
        for library in LIBRARIES:
            without = OTHER_REFERENCE if library == "mpich" else ()
            for ranks in (2, 4):
                reference = self.on_a_local_directory(library, ranks, None)
                for plan in ("resonant", "two_phase"):
                    ours = self.on_a_local_directory(library, ranks, plan)
                    self.compare(ranks, ours, reference, f"{library}, {plan}", without=without)


if __name__ == "__main__":
    unittest.main()
