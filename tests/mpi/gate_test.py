"""Turns of MPI programs: files of the MPI library's own and files on Tutti, opened and written as always."""

import os
import unittest

from launch import LIBRARIES, MpiTest, program


def turns(path):
    with open(path, encoding="ascii") as file:
        return [tuple(map(float, line.split())) for line in file]


class Gate(MpiTest):
    def jobs(self, library, scope, files, hold):
        """Two jobs at once; the spans of their checkpoints."""
        processes = []
        for i, file in enumerate(files):
            log = self.local(f"{library}-{scope}-{i}")
            launch = self.mpi_command(library, 2, "gate", file, log, 3, 200_000, hold)
            words = launch[launch.index("--") + 1 :]
            command = self.command("run", "--gate", "lock", "--gate-scope", scope, "--", *words)
            processes.append((log, self.start_words(library, command)))
        for _, process in processes:
            self.finish(process, timeout=300)
        return [turns(log) for log, _ in processes]

    def start_words(self, library, command):
        import subprocess

        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(library, None),
            start_new_session=True,
        )
        self.addCleanup(self._end_all, process)
        return process

    def assert_in_turns(self, spans):
        spans = sorted(span for each in spans for span in each)
        self.assertEqual(len(spans), 6)
        for before, after in zip(spans, spans[1:]):
            self.assertLessEqual(before[1], after[0], spans)

    def test_files_of_the_mpi_library_are_written_in_turns(self):
        self.tutti("gate", "serve", "--background")
        for library in LIBRARIES:
            with self.subTest(library=library):
                self.assertIsNotNone(program(library, "gate"))
                files = [self.local(f"{library}{i}") for i in range(2)]
                self.assert_in_turns(self.jobs(library, "file", files, 50))
                for file in files:
                    self.assertEqual(os.path.getsize(file), 400_000)
        status = self.json("gate", "status")
        self.assertEqual(status["granted"], 6 * len(LIBRARIES))
        self.assertEqual((status["jobs"], status["unguarded"]), ([], 0))

    def test_files_on_tutti_are_written_in_turns(self):
        self.up(servers=2)
        library = LIBRARIES[0]
        self.assert_in_turns(self.jobs(library, "file", ["tutti:/one", "tutti:/two"], 50))
        self.assertEqual(self.json("gate", "status")["granted"], 6)

    def test_a_turn_for_each_collective_call(self):
        self.tutti("gate", "serve", "--background")
        library = LIBRARIES[0]
        self.jobs(library, "call", [self.local("one"), self.local("two")], 0)
        self.assertEqual(self.json("gate", "status")["granted"], 6)


if __name__ == "__main__":
    unittest.main()
