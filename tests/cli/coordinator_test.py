"""The coordinator: in the metadata server, or alone in a daemon of its own; gone and back again."""

import json
import unittest

from support import CommandTest, wait_until


class Coordinator(CommandTest):
    def sessions(self):
        """Whether each data server has its session with the coordinator."""
        servers = self.json("status")["servers"]
        return [server["coordinator"]["connected"] for server in servers if server["kind"] == "data"]

    def wait_for_sessions(self):
        wait_until(lambda: all(self.sessions()), what="sessions with the coordinator")

    def test_the_metadata_server_coordinates_by_default(self):
        self.up(servers=2)
        self.wait_for_sessions()
        server = self.json("status")["servers"][1]
        self.assertGreaterEqual(server["coordinator"]["last_heard"], server["coordinator"]["since"])
        self.assertNotIn("coordinator", self.pids())
        self.fails("serve", "coordinator", "--config", f"{self.state}/cluster.toml", says="names no coordinator")
        self.tutti("down")
        self.fails("up", "--coordinator", "alone", says="made otherwise")

    def test_alone_it_is_started_shown_and_stopped_with_the_others(self):
        out = self.up("--coordinator", "alone", servers=2)
        self.assertIn("1 coordinator", out)
        self.assertEqual(set(self.pids()), {"coordinator", "meta", "data.0", "data.1"})
        self.wait_for_sessions()
        status = self.json("status")
        self.assertEqual([s["kind"] for s in status["servers"]], ["meta", "coordinator", "data", "data"])
        self.assertTrue(status["policy"].startswith("fcfs"))
        self.assertIn("coordinator", self.tutti("status"))
        self.tutti("policy", "set", "window;interval=300")
        self.check_round_trip()
        self.assertEqual(len(self.json("down")), 4)
        self.assertIn("window;interval=300", self.tutti("up"))

    def test_without_it_everything_is_served_and_a_new_one_is_found(self):
        self.up("--coordinator", "alone", servers=2)
        self.wait_for_sessions()
        self.kill("coordinator")
        self.check_round_trip()
        self.fails("--patience", "1s", "policy", "set", "window", says="coordinator")
        self.fails("status", says="1 of 4 servers do not answer")
        self.tutti("up")
        self.wait_for_sessions()
        self.tutti("policy", "set", "window")
        self.kill("data.1")
        wait_until(lambda: self.run_status()[1] is False, what="the end of its lease")
        self.tutti("up")
        self.wait_for_sessions()

    def run_status(self):
        """Sessions while a server is away, so that status fails."""
        out, _ = self.run_tutti("status", "--json", code=1)
        servers = json.loads(out)["servers"]
        return [server.get("coordinator", {}).get("connected") for server in servers if server["kind"] == "data"]

    def test_it_works_over_tcp_too(self):
        self.up("--tcp", "--coordinator", "alone", servers=2)
        self.wait_for_sessions()
        self.tutti("policy", "set", "window")
        self.check_round_trip()


if __name__ == "__main__":
    unittest.main()
