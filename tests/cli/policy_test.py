"""The order of requests in a running cluster: shown, changed while clients work, refused, kept over restarts."""

import os
import signal
import unittest

from support import CommandTest, MIB, digest, wait_until, write_file


class Policy(CommandTest):
    def setUp(self):
        super().setUp()
        self.up(servers=3)

    def in_effect(self):
        """The policy that all servers follow, or None while they differ."""
        policies = {server["policy"] for server in self.json("policy", "show")["servers"]}
        return policies.pop() if len(policies) == 1 else None

    def wait_for(self, name):
        wait_until(lambda: (self.in_effect() or "").startswith(name), what=f"{name} on all servers")

    def test_changes_while_clients_write_and_loses_nothing(self):
        sources = [write_file(self.local(f"in{i}"), 96 * MIB, seed=i) for i in range(3)]
        self.assertTrue(self.json("policy", "show")["policy"].startswith("fcfs"))
        for round_number, text in enumerate(["window;interval=250", "fcfs;dispatch_depth=2", "window;order=rotated"]):
            writers = [self.start("put", source, f"/f{i}") for i, source in enumerate(sources)]
            changed = self.json("policy", "set", text)
            self.assertEqual(changed["version"], round_number + 2)
            self.wait_for(text.split(";", maxsplit=1)[0])
            for writer in writers:
                self.finish(writer)
        for i, source in enumerate(sources):
            self.tutti("get", f"/f{i}", self.local(f"out{i}"))
            self.assertEqual(digest(source), digest(self.local(f"out{i}")))
        self.assertIn("order=rotated", self.json("status")["policy"])
        self.assertIn("window", self.tutti("policy", "show"))

    def test_all_servers_follow_from_the_same_window(self):
        changed = self.json("policy", "set", "window;interval=500")
        self.assertFalse(changed["in_effect"])
        self.assertGreater(changed["from_window"], 0)
        self.assertTrue(changed["previous"].startswith("fcfs"))
        self.wait_for("window;interval=500")
        again = self.json("policy", "set", "window;interval=500")
        self.assertEqual(again["version"], changed["version"], "it holds already")

    def test_is_refused_with_the_name_of_a_server_that_cannot_be_reached(self):
        before = self.json("policy", "show")
        self.kill("data.1")
        self.fails("policy", "set", "window", says="data server 1")
        after = self.json("policy", "show")
        self.assertEqual(before["version"], after["version"])
        self.up(servers=3)
        self.assertEqual(self.in_effect(), "fcfs;dispatch_depth=16")
        self.tutti("policy", "set", "window")
        self.wait_for("window")

    def test_a_server_that_hangs_refuses_it_too(self):
        pid = self.pids()["data.2"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.fails("policy", "set", "window", says="data server 2")
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertTrue(self.json("policy", "show")["policy"].startswith("fcfs"))

    def test_survives_restarts_until_the_cluster_file_says_otherwise(self):
        self.tutti("policy", "set", "window;interval=300")
        self.wait_for("window;interval=300")
        self.tutti("down")
        self.assertIn("window;interval=300", self.tutti("up"))
        self.wait_for("window;interval=300")
        self.kill("data.0")
        self.tutti("up")
        self.wait_for("window;interval=300")
        self.tutti("down")
        self.assertIn("fcfs;dispatch_depth=3", self.tutti("up", "--policy", "fcfs;dispatch_depth=3"))
        self.wait_for("fcfs;dispatch_depth=3")

    def test_bad_policies_are_refused_and_explained(self):
        self.fails("policy", "set", "fifo", says="use fcfs")
        self.fails("policy", "set", "window;interval=0", says="interval=0")
        self.fails("policy", "set", "window;" + "x" * 5000, says="")
        self.fails("policy", code=2)


if __name__ == "__main__":
    unittest.main()
