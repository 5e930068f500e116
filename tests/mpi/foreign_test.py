"""Files that are not on Tutti, by our plans and orders: the same as the MPI library does it by itself."""

import os
import unittest

from conformance_test import OTHER_REFERENCE, Conformance
from launch import LIBRARIES

STRIPED = "striping_unit=4096;striping_factor=3"


class Foreign(Conformance):
    test_same_as_the_library_on_a_local_directory = None  # that of the base class

    def on_a_local_directory(self, library, ranks, hint=None, value=None):
        where = self.local(f"{library}-{ranks}-{value or 'library'}")
        files, logs = os.path.join(where, "files"), os.path.join(where, "logs")
        os.makedirs(files)
        os.makedirs(logs)
        environment = {"CONFORM_REFERENCE": "1", "TUTTI_LOG": "info"}
        if hint:
            environment["TUTTI_HINTS"] = f"{hint}={value};{STRIPED}"
        told = self.mpi(library, ranks, "conform", files, logs, env=environment)
        said = f"by {value}" if hint == "tutti_collective" else f"in the order of {value}"
        self.assertEqual(said in told, hint is not None, told[-2000:])
        return files, logs

    def test_plans_and_orders_move_the_same_bytes_on_another_file_system(self):
        self.up()
        for library in LIBRARIES:
            without = OTHER_REFERENCE if library == "mpich" else ()
            for ranks in (2, 4):
                reference = self.on_a_local_directory(library, ranks)
                for hint, value in (("tutti_collective", "resonant"), ("tutti_collective", "two_phase"),
                                    ("tutti_target_order", "hash")):
                    ours = self.on_a_local_directory(library, ranks, hint, value)
                    self.compare(ranks, ours, reference, f"{library}, {value}", without=without)


if __name__ == "__main__":
    unittest.main()
