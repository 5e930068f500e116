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
        result = self.json("demo", "--size", "32MiB")
        self.assertLess(time.monotonic() - started, 60)
        self.assertEqual(len(result["applications"]), 2)
        self.assertEqual(len(result["servers"]), 4)
        for application in result["applications"]:
            self.assertTrue(application["intact"])
            self.assertEqual(application["bytes"], 32 << 20)
        self.assertEqual(sum(s["bytes_written"] for s in result["servers"]), 64 << 20)
        self.assertIn("application_1_write_mib_per_second", result["measured"])
        self.assertEqual(self.leftovers(), before)

    def test_demo_table(self):
        text = self.tutti("demo", "--size", "8MiB")
        self.assertEqual(text.count("intact"), 2)

    def test_interrupted_demo_cleans_up(self):
        before = set(self.leftovers())
        demo = subprocess.Popen([TUTTI, "demo", "--size", "512MiB"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self._end, demo)
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
