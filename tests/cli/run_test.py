"""tutti run: what it hands to a program, and what it says when it cannot."""

import os
import unittest

from support import CommandTest

PRINT = (
    'printf "%s|%s|%s|%s|%s" "$LD_PRELOAD" "$TUTTI_CLUSTER" "$TUTTI_HINTS" "$TUTTI_PATIENCE" "$TUTTI_APPLICATION"'
)


class Run(CommandTest):
    def test_the_program_gets_library_cluster_and_hints(self):
        self.up(servers=1)
        out = self.tutti(
            "--application", "climate", "--patience", "7s", "run", "--hint", "cb_nodes=2", "--",
            "sh", "-c", PRINT, env={"LD_PRELOAD": "", "TUTTI_HINTS": ""},
        )
        library, cluster, hints, patience, application = out.split("|")
        for each in library.split(":"):
            self.assertTrue(os.path.exists(each), each)
        self.assertEqual(cluster, os.path.join(self.state, "cluster.toml"))
        self.assertEqual(hints, "cb_nodes=2")
        self.assertEqual(patience, "7s")
        self.assertEqual(application, "climate")

    def test_what_is_not_given_stays_as_it_is_in_the_environment(self):
        self.up(servers=1)
        environment = {"TUTTI_PATIENCE": "9s", "TUTTI_APPLICATION": "ocean"}
        out = self.tutti("run", "--", "sh", "-c", PRINT, env=environment)
        self.assertEqual(out.split("|")[3:], ["9s", "ocean"])

    def test_an_application_that_is_none(self):
        self.up(servers=1)
        self.fails("--application", "0", "run", "--", "true", says="--application")

    def test_what_was_preloaded_before_stays_in_front(self):
        self.up(servers=1)
        out = self.tutti("run", "--", "sh", "-c", PRINT, env={"LD_PRELOAD": "libc.so.6"})
        self.assertTrue(out.startswith("libc.so.6:/"), out)

    def test_exit_code_and_arguments_are_the_programs(self):
        self.up(servers=1)
        self.run_tutti("run", "--", "sh", "-c", "exit 23", code=23)
        self.assertEqual(self.tutti("run", "--", "echo", "-n", "--hint", "x"), "--hint x")

    def test_a_program_that_is_not_there(self):
        self.up(servers=1)
        self.fails("run", "--", "/no/such/program", says="start /no/such/program")

    def test_without_a_cluster_or_a_command(self):
        self.fails("run", "--", "true", says="tutti up")
        self.fails("run", code=2, says="command")

    def test_a_hint_that_is_none(self):
        self.up(servers=1)
        self.fails("run", "--hint", "cb_nodes", "--", "true", says="key=value")


if __name__ == "__main__":
    unittest.main()
