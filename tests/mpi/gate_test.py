"""Turns of MPI programs: files of the MPI library's own and files on Tutti, opened and written as always."""

import os
import signal
import subprocess
import unittest

from launch import LIBRARIES, MpiTest, program
from support import wait_until


def turns(path):
    with open(path, encoding="ascii") as file:
        return [tuple(map(float, line.split())) for line in file]


class Gate(MpiTest):
    def jobs(self, library, scope, files, hold):
        """Two jobs at once; the spans of their checkpoints."""
        processes = []
        for i, file in enumerate(files):
            log = self.local(f"{library}-{scope}-{i}")
            processes.append((log, self.start_job(library, scope, file, log, 3, 200_000, hold)))
        for _, process in processes:
            self.finish(process, timeout=300)
        return [turns(log) for log, _ in processes]

    def start_job(self, library, scope, *arguments, env=None, told=subprocess.PIPE):
        launch = self.mpi_command(library, 2, "gate", *arguments)
        words = launch[launch.index("--") + 1 :]
        process = subprocess.Popen(
            self.command("run", "--gate", "lock", "--gate-scope", scope, "--", *words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=told,
            env=self.environment(library, env),
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

    def test_what_is_written_in_a_lost_turn_waits_for_another_one(self):
        self.up(servers=2)
        library = LIBRARIES[0]
        log, told = self.local("one"), self.local("told")
        with open(told, "wb") as file:
            env = {"TUTTI_LOG": "info"}
            first = self.start_job(library, "file", "tutti:/one", log, 1, 200_000, 100, 120, env=env, told=file)
        wait_until(lambda: self.json("gate", "status")["granted"] == 1, what="the first turn")
        second = self.start_job(library, "file", "tutti:/two", self.local("two"), 1, 200_000, 0)
        wait_until(lambda: len(self.json("gate", "status")["jobs"]) == 2, what="the second job")
        first.send_signal(signal.SIGSTOP)  # `tutti run`, which renews; its program goes on
        self.finish(second, timeout=60)
        with open(told, encoding="utf-8") as file:
            wait_until(lambda: "has lost its turn at the gate" in file.read(), what="the refusal")
        self.assertFalse(os.path.exists(log), "it has ended meanwhile")
        first.send_signal(signal.SIGCONT)
        self.assertEqual(first.wait(timeout=60), 0)
        status = self.json("gate", "status")
        self.assertEqual((status["granted"], status["lost"], status["jobs"]), (3, 1, []))
        out, _ = self.run_tutti("cat", "/one")
        self.assertEqual(out, b"a" * 200_000 + b"b" * 200_000)

    def test_a_turn_for_each_collective_call(self):
        self.tutti("gate", "serve", "--background")
        library = LIBRARIES[0]
        self.jobs(library, "call", [self.local("one"), self.local("two")], 0)
        self.assertEqual(self.json("gate", "status")["granted"], 6)


if __name__ == "__main__":
    unittest.main()
