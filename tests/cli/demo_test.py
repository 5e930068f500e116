"""The demo and the simulator, as a user starts them."""

import glob
import json
import os
import signal
import subprocess
import time
import unittest

from support import TUTTI, CommandTest, wait_until

SCENARIOS = os.environ["TUTTI_SCENARIOS"]


class Demo(CommandTest):
    @staticmethod
    def leftovers():
        return glob.glob("/dev/shm/tutti-demo-*") + glob.glob("/tmp/tutti-demo-*")

    def test_demo(self):
        before = self.leftovers()
        started = time.monotonic()
        result = self.json("demo", "--rounds", "2")
        self.assertLess(time.monotonic() - started, 60)
        self.assertEqual([each["policy"] for each in result["policies"]], ["fcfs", "window"])
        for each in result["policies"]:
            self.assertEqual([len(rounds) for rounds in each["rounds"]], [2] * 4)
            self.assertGreater(each["mean_seconds"], 0)
        self.assertIn("reduction", result["measured"])
        self.assertEqual(self.leftovers(), before)

    def test_demo_shows_whom_each_server_serves(self):
        text = self.tutti("demo", "--rounds", "1")
        for server in range(4):
            lines = [line for line in text.splitlines() if line.startswith(f"  server {server}  ")]
            self.assertEqual(len(lines), 2, text)  # without and with coordination
            for line in lines:
                self.assertRegex(line, r"[1-4*]", text)
        self.assertIn("All bytes were right", text)

    def test_interrupted_demo_cleans_up(self):
        before = set(self.leftovers())
        demo = subprocess.Popen([TUTTI, "demo", "--rounds", "20"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self._end, demo)
        self.addCleanup(self.interrupt, demo)
        fresh = wait_until(lambda: set(self.leftovers()) - before, what="the directory of the demo")
        demo.send_signal(signal.SIGINT)
        demo.communicate(timeout=60)
        self.assertEqual(demo.returncode, 130)
        self.assertEqual(set(self.leftovers()) & fresh, set())


class Simulator(CommandTest):
    def test_scenarios_run_and_repeat(self):
        for path in sorted(glob.glob(os.path.join(SCENARIOS, "*.toml"))):
            with self.subTest(scenario=path):
                first, _ = self.run_tutti("sim", path, "--json")
                second, _ = self.run_tutti("sim", path, "--json")
                self.assertEqual(first, second)
                self.assertIn("measured", json.loads(first))

    def test_unknown_key_of_a_scenario(self):
        path = self.local("scenario.toml")
        with open(path, "w", encoding="ascii") as file:
            file.write("sede = 1\n")
        self.fails("sim", path, says="scenario.toml:1: unknown key 'sede'")


if __name__ == "__main__":
    unittest.main()
