"""What MPI promises about the order of calls and what programs rely on, each often and with every library.

TUTTI_MPI_REPEAT=30 repeats each; a test that holds only now and then does not hold."""

import os
import unittest

from launch import LIBRARIES, MpiTest

REPEAT = int(os.environ.get("TUTTI_MPI_REPEAT", "2"))
RECORD = 1000


class Promises(MpiTest):
    def keep(self, promise, *arguments, ranks=4, repeat=REPEAT, **options):
        for library in LIBRARIES:
            for number in range(repeat):
                with self.subTest(library=library, number=number):
                    out = self.mpi(library, ranks, "promises", promise, "tutti:/f", *arguments, **options)
                    self.assertIn("kept\n", out)
                    self.after(ranks)

    def after(self, ranks):
        """What is to be seen when the program has ended."""

    def setUp(self):
        super().setUp()
        self.up()


class Order(Promises):
    def test_a_view_at_the_shared_pointer_is_the_same_on_all_ranks(self):
        self.keep("displacement")

    def test_a_seek_of_the_shared_pointer_comes_before_the_next_ordered_write(self):
        self.keep("ordered")

    def test_collective_writes_in_flight_keep_their_views(self):
        self.keep("in_flight")


class End(Promises):
    def after(self, ranks):
        out, _ = self.run_tutti("cat", "/f")
        self.assertEqual(out, b"".join(bytes([ord("a") + rank]) * RECORD for rank in range(ranks)))

    def test_what_is_written_and_closed_in_finalize_is_there(self):
        self.keep("finalize")


class Computing(Promises):
    """Longer than any patience of the client's and of the handshake: 5 s."""

    def test_transfers_go_on_after_a_program_has_computed(self):
        self.keep("computing", 6, ranks=2, repeat=1, patience="4s")
        self.keep("computing_reader", 6, ranks=2, repeat=1, patience="4s")

    def test_an_atomic_write_outlives_the_lease_of_its_lock(self):
        self.keep("computing_atomic", 6, ranks=2, repeat=1, patience="4s")


if __name__ == "__main__":
    unittest.main()
