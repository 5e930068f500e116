"""Every function of MPI's file chapter: the same program on Tutti and on a local directory says and writes the same."""

import filecmp
import os
import unittest

from launch import LIBRARIES, MpiTest

RANKS = (1, 2, 4, 9)
# MPICH 4.0 cannot be the reference of these; Open MPI is: see conformance/conform.h.
OTHER_REFERENCE = ("random", "external32")


class Conformance(MpiTest):
    def run_cases(self, library, ranks, tutti):
        """Runs all cases; returns (files, logs), both local."""
        where = self.local(f"{library}-{ranks}-{'tutti' if tutti else 'local'}")
        files, logs = os.path.join(where, "files"), os.path.join(where, "logs")
        os.makedirs(files)
        os.makedirs(logs)
        if not tutti:
            self.mpi(library, ranks, "conform", files, logs, tutti=False, env={"CONFORM_REFERENCE": "1"})
            return files, logs
        self.tutti("mkdir", f"/{library}-{ranks}")
        self.mpi(library, ranks, "conform", f"tutti:/{library}-{ranks}", logs)
        self.tutti("get", "-r", f"/{library}-{ranks}", os.path.join(where, "got"))
        return os.path.join(where, "got"), logs

    def lines(self, logs, rank, cases=None, without=()):
        with open(os.path.join(logs, str(rank)), encoding="ascii", errors="replace") as file:
            text = file.read().splitlines()
        name = lambda line: line.split(":", 1)[0]
        return [l for l in text if (cases is None or name(l) in cases) and name(l) not in without]

    def compare(self, ranks, ours, theirs, what, cases=None, without=()):
        files, logs = ours
        reference_files, reference_logs = theirs
        wanted = lambda name: (cases is None or name.split(".")[0] in cases) and name.split(".")[0] not in without
        for rank in range(ranks):
            with self.subTest(what=what, ranks=ranks, rank=rank):
                self.maxDiff = 4000
                seen = self.lines(logs, rank, cases, without)
                self.assertEqual([l for l in seen if "FAILED" in l], [])
                expected = [l for l in self.lines(reference_logs, rank, cases, without) if "FAILED" not in l]
                # What only Tutti is asked is not in the reference.
                self.assertEqual([l for l in seen if not l.startswith("collective_errors")], expected)
        names = sorted(n for n in os.listdir(reference_files) if wanted(n))
        with self.subTest(what=what, ranks=ranks):
            got = sorted(n for n in os.listdir(files) if wanted(n) and not n.startswith("collective_errors"))
            self.assertEqual(got, names)
            different = [
                name
                for name in names
                if not filecmp.cmp(os.path.join(files, name), os.path.join(reference_files, name), shallow=False)
            ]
            self.assertEqual(different, [], "files differ")

    def test_same_as_the_library_on_a_local_directory(self):
        self.up()
        for ranks in RANKS:
            reference = {}
            for library in LIBRARIES:
                reference[library] = self.run_cases(library, ranks, tutti=False)
                ours = self.run_cases(library, ranks, tutti=True)
                if library == "openmpi":
                    self.compare(ranks, ours, reference[library], library)
                    continue
                self.compare(ranks, ours, reference[library], library, without=OTHER_REFERENCE)
                if "openmpi" in reference:
                    self.compare(ranks, ours, reference["openmpi"], "mpich beside openmpi", cases=OTHER_REFERENCE)


if __name__ == "__main__":
    unittest.main()
