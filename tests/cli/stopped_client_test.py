"""Clients that are stopped (SIGSTOP) in the middle of their transfers hold up nobody, and go on when they are continued."""

import os
import signal
import subprocess
import time
import unittest

from support import MIB, CommandTest, digest, wait_until, write_file


class StoppedClient(CommandTest):
    SIZE = 64 * MIB
    STOPPED = 20  # more than a server has places in service

    def under_way(self, clients):
        """Whether all clients are connected with the data server (status is one more), or the first is done."""
        # On a busy machine the server may take longer than status waits: then it is asked again.
        servers = [server for server in self.json("status", code=None)["servers"] if server["kind"] == "data"]
        return servers[0].get("sessions", 0) > len(clients) or any(client.poll() is not None for client in clients)

    def hold_up_nobody(self, *up):
        self.up(*up, servers=1)
        source = write_file(self.local("in"), self.SIZE)
        self.tutti("put", source, "/read")
        stopped = []
        for number in range(self.STOPPED):
            if number % 2 == 0:
                stopped.append(self.start("--patience", "300s", "put", source, f"/stopped{number}"))
            else:
                stopped.append(self.start("--patience", "300s", "get", "/read", self.local(f"stopped{number}")))
        wait_until(lambda: self.under_way(stopped), 30, "all to be under way")
        for process in stopped:
            process.send_signal(signal.SIGSTOP)
        # None of this needs a stopped one to move.
        self.tutti("put", source, "/other", timeout=60)
        self.tutti("get", "/other", self.local("out"), timeout=60)
        self.assertEqual(digest(self.local("out")), digest(source))
        for process in stopped:
            process.send_signal(signal.SIGCONT)
        for process in stopped:
            self.finish(process)
        for number in range(self.STOPPED):
            if number % 2 == 0:
                self.tutti("get", f"/stopped{number}", self.local("out"))
                self.assertEqual(digest(self.local("out")), digest(source))
            else:
                self.assertEqual(digest(self.local(f"stopped{number}")), digest(source))
            os.unlink(self.local("out" if number % 2 == 0 else f"stopped{number}"))

    def test_by_tcp_first_come_first_served(self):
        self.hold_up_nobody("--tcp", "--policy", "fcfs")

    def test_by_tcp_in_windows(self):
        self.hold_up_nobody("--tcp", "--policy", "window")

    def test_on_the_local_socket(self):
        self.up(servers=1)
        self.tutti("down")
        path = os.path.join(self.state, "cluster.toml")
        with open(path, encoding="ascii") as file:
            lines = ['mover = "socket"\n' if line.startswith("mover") else line for line in file]
        with open(path, "w", encoding="ascii") as file:
            file.writelines(lines)
        self.hold_up_nobody()

    def test_by_memory(self):
        self.hold_up_nobody("--policy", "window")


class StoppedInTheFirstHandshake(CommandTest):
    STOPPED = 7.0  # seconds: longer than a client waits for the first word of a server

    def test_goes_on_when_it_is_continued(self):
        self.up(servers=1)
        meta = self.pids()["meta"]
        os.kill(meta, signal.SIGSTOP)
        try:
            client = self.start("ls", "/")
            # It has said its first word and waits for the answer.
            wait_until(lambda: self.waits_with_a_socket(client.pid), 4, "the client to wait")
            client.send_signal(signal.SIGSTOP)
        finally:
            os.kill(meta, signal.SIGCONT)
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > self.STOPPED, 60, "the time to pass")
        client.send_signal(signal.SIGCONT)
        self.finish(client)

    @staticmethod
    def waits_with_a_socket(pid):
        try:
            links = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                asleep = file.read().rsplit(")", 1)[1].split()[0] == "S"
        except FileNotFoundError:
            return False
        return asleep and any(link.startswith("socket:") for link in links)


class StoppedServer(CommandTest):
    def test_up_says_that_it_does_not_answer(self):
        self.up(servers=2)
        self.fails("up", says="runs already")
        pid = self.pids()["data.1"]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.fails("up", says="data.1.sock does not answer")
        finally:
            os.kill(pid, signal.SIGCONT)
        self.fails("up", says="runs already")


@unittest.skipUnless(os.geteuid() == 0, "needs root to be two users")
class AnotherUser(CommandTest):
    """A user against a daemon of root."""

    UID = 54321

    def test_cannot_signal_a_server_that_moves_his_bytes(self):
        self.up(servers=1)
        self.tutti("down")
        config = os.path.join(self.state, "cluster.toml")
        self.tutti("up")
        self.tutti("chmod", "777", "/")
        for path in (self.scratch, self.state, os.path.join(self.state, "run"), config):
            os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
        pid = self.pids()["data.0"]
        source = write_file(self.local("in"), 256 * MIB)
        os.chmod(source, 0o644)
        # Signal 0 tells whether a signal would be delivered.
        script = f"""
import os, subprocess, sys
os.setgid({self.UID}); os.setuid({self.UID})
put = subprocess.Popen({self.command("put", source, "/users")!r})
hits = tries = 0
while put.poll() is None:
    for _ in range(1000):
        tries += 1
        try:
            os.kill({pid}, 0)
            hits += 1
        except PermissionError:
            pass
print(put.returncode, hits, tries)
"""
        done = subprocess.run(["python3", "-c", script], capture_output=True, timeout=120, check=False, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        code, hits, tries = map(int, done.stdout.split())
        self.assertEqual(code, 0, done.stderr)
        self.assertGreater(tries, 1000)
        self.assertEqual(hits, 0)


if __name__ == "__main__":
    unittest.main()
