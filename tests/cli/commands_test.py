"""The commands on names and attributes, their help and exit codes."""

import json
import os
import stat
import unittest

from support import CommandTest, MIB


class Help(CommandTest):
    COMMANDS = (
        "up down status policy demo ls put get cat rm mkdir rmdir mv ln chmod chown truncate stat df sim bench serve".split()
    )

    def test_every_command_has_help_with_an_example(self):
        for command in self.COMMANDS:
            text = self.tutti(command, "--help")
            self.assertIn("Example:", text, command)

    def test_help_lists_the_commands(self):
        text = self.tutti("--help")
        for command in self.COMMANDS:
            self.assertIn(f"\n  {command} ", text)

    def test_version(self):
        self.assertRegex(self.tutti("--version"), r"^tutti \d+\.\d+\.\d+\n$")

    def test_unknown_command_suggests_the_nearest(self):
        self.fails("stauts", code=2, says="did you mean 'status'?")
        self.fails("frobnicate", code=2, says="unknown command 'frobnicate'")

    def test_wrong_usage_is_2(self):
        self.fails("put", "only-one", code=2)
        self.fails("ls", "--nonsense", code=2)
        self.fails("chmod", "9", "/a", code=2)

    def test_no_cluster_says_what_to_do(self):
        self.fails("ls", "/", says="tutti up")


class Names(CommandTest):
    def setUp(self):
        super().setUp()
        self.up(servers=3)

    def names(self, path="/"):
        return self.tutti("ls", path).split()

    def test_status_shows_each_server(self):
        status = self.json("status")
        self.assertTrue(status["healthy"])
        self.assertEqual([s["kind"] for s in status["servers"]], ["meta", "data", "data", "data"])
        for server in status["servers"]:
            self.assertTrue(server["reachable"])
        self.assertIn("data.2", self.tutti("status"))

    def test_status_shows_who_used_the_servers(self):
        source = self.local("in")
        with open(source, "wb") as out:
            out.write(b"x" * MIB)
        self.tutti("--application", 7, "put", source, "/a")
        self.tutti("--application", 9, "get", "/a", self.local("out"))
        rows = {row["application"]: row for row in self.json("status", "--apps")["applications"]}
        self.assertEqual(rows[7]["bytes_written"], MIB)
        self.assertEqual(rows[9]["bytes_read"], MIB)
        self.assertEqual(rows[7]["program"], "tutti")
        self.assertGreater(rows[7]["served_seconds"], 0)
        self.assertIn("waited for", self.tutti("status", "--apps"))
        requests = rows[7]["requests"] + rows[9]["requests"]
        servers = [s for s in self.json("status")["servers"] if s["kind"] == "data"]
        self.assertEqual(sum(s["reads"] + s["writes"] for s in servers), requests)
        self.assertGreater(sum(s["requests_per_second"] for s in servers), 0)
        self.kill("data.1")
        out, err = self.run_tutti("status", "--apps", "--json", code=1)
        self.assertEqual(len(json.loads(out)["silent"]), 1)
        self.assertIn("data server 1", err)

    def test_status_of_a_dead_server(self):
        self.kill("data.1")
        out, _ = self.run_tutti("status", "--json", code=1)
        servers = json.loads(out)["servers"]
        self.assertEqual([s["reachable"] for s in servers], [True, True, False, True])
        self.assertIn("Started data.1 again", self.up(servers=3))
        self.assertTrue(self.json("status")["healthy"])

    def test_directories(self):
        self.tutti("mkdir", "/a", "tutti:/b", "c")
        self.assertEqual(self.names(), ["a", "b", "c"])
        self.fails("mkdir", "/a", says="exists")
        self.fails("mkdir", "/x/y", says="not_found")
        self.tutti("mkdir", "-p", "/x/y/z")
        self.tutti("mkdir", "-p", "/x/y/z")
        self.assertEqual(self.names("/x/y"), ["z"])
        self.fails("rmdir", "/x/y", says="not_empty")
        self.tutti("rmdir", "/x/y/z", "/x/y")
        self.assertEqual(self.names("/x"), [])
        self.fails("rmdir", "/none", says="not_found")

    def test_rename_and_links(self):
        self.tutti("put", "-", "/a", stdin=b"hello")
        self.tutti("mv", "/a", "/b")
        self.assertEqual(self.names(), ["b"])
        self.tutti("ln", "/b", "/hard")
        self.assertEqual(self.json("stat", "/b")["links"], 2)
        self.tutti("ln", "-s", "b", "/soft")
        self.assertEqual(self.json("stat", "/soft")["target"], "b")
        self.assertEqual(self.json("stat", "-L", "/soft")["size"], 5)
        self.assertEqual(self.tutti("cat", "/soft", "/hard"), "hellohello")
        self.tutti("mkdir", "/d")
        self.tutti("mv", "/b", "/hard", "/d")
        self.assertEqual(self.names("/d"), ["b", "hard"])
        self.tutti("put", "-", "/new", stdin=b"x")
        self.fails("mv", "-n", "/new", "/d/b", says="exists")
        self.fails("mv", "/none", "/d", says="not_found")

    def test_remove(self):
        self.tutti("mkdir", "-p", "/t/u")
        self.tutti("put", "-", "/t/u/f", stdin=b"x" * 100000)
        self.fails("rm", "/t", says="is_directory")
        self.fails("rm", "/none", says="not_found")
        self.tutti("rm", "-f", "/none")
        self.fails("rm", "-r", "/", says="root")
        self.tutti("rm", "-r", "/t")
        self.assertEqual(self.names(), [])

    def test_permissions(self):
        self.tutti("put", "-", "/f", stdin=b"x")
        self.tutti("chmod", "640", "/f")
        self.assertEqual(self.json("stat", "/f")["mode"], "0640")
        self.tutti("chmod", "u+x,g-r,o=r", "/f")
        self.assertEqual(self.json("stat", "/f")["mode"], "0704")
        self.tutti("mkdir", "-m", "700", "/d")
        self.assertEqual(self.json("stat", "/d")["mode"], "0700")
        self.assertIn("-rwx---r--", self.tutti("ls", "-l", "/"))
        if os.geteuid() == 0:
            self.tutti("chown", "12345:54321", "/f")
            self.assertEqual(self.json("stat", "/f")["uid"], 12345)
            self.assertEqual(self.json("stat", "/f")["gid"], 54321)
        self.fails("chown", "no-such-user", "/f", code=2, says="no user")

    def test_truncate_and_sparse_files(self):
        self.tutti("truncate", "-s", "10MiB", "/sparse")
        self.assertEqual(self.json("stat", "/sparse")["size"], 10 * MIB)
        out, _ = self.run_tutti("cat", "/sparse")
        self.assertEqual(out, bytes(10 * MIB))
        self.tutti("put", "-", "/f", stdin=b"0123456789")
        self.tutti("truncate", "-s", "4", "/f")
        self.assertEqual(self.tutti("cat", "/f"), "0123")
        self.fails("truncate", "-s", "-1", "/f", code=2)

    def test_striping_is_shown_and_inherited(self):
        self.tutti("put", "-", "/f", "--stripe-size", "1MiB", "--stripe-count", "2", "--first-server", "2", stdin=b"x")
        shown = self.json("stat", "/f")
        self.assertEqual(shown["stripe_size"], MIB)
        self.assertEqual(shown["servers"], [2, 0])
        self.tutti("mkdir", "/d", "--stripe-size", "4KiB", "--stripe-count", "1")
        self.tutti("put", "-", "/d/f", stdin=b"x")
        self.assertEqual(self.json("stat", "/d/f")["stripe_size"], 4096)
        self.assertEqual(self.json("stat", "/d/f")["stripe_count"], 1)
        self.tutti("put", "-", "/plain", stdin=b"x")
        self.assertEqual(self.json("stat", "/plain")["stripe_size"], 65536)
        self.assertEqual(self.json("stat", "/plain")["stripe_count"], 3)
        self.fails("put", "-", "/g", "--stripe-count", "4", says="", stdin=b"x")

    def test_listing(self):
        self.tutti("mkdir", "/d")
        self.tutti("put", "-", "/d/.hidden", stdin=b"x")
        self.tutti("put", "-", "/d/seen", stdin=b"abc")
        self.assertEqual(self.names("/d"), ["seen"])
        self.assertEqual(self.tutti("ls", "-a", "/d").split(), [".hidden", "seen"])
        self.assertEqual(self.json("ls", "/d")[0]["size"], 3)
        self.assertEqual(self.tutti("ls", "/d/seen").split(), ["/d/seen"])
        self.assertIn("/d:", self.tutti("ls", "-R", "/"))
        self.fails("ls", "/none", says="not_found")

    def test_df(self):
        space = self.json("df")
        self.assertGreater(space["total"], space["free"])

    def test_one_bad_path_does_not_stop_the_others(self):
        self.tutti("put", "-", "/a", stdin=b"1")
        out, err = self.run_tutti("cat", "/none", "/a", code=1)
        self.assertEqual(out, b"1")
        self.assertIn("tutti: cat /none: not_found", err)

    def test_state_directory_and_key_are_private(self):
        self.assertEqual(stat.S_IMODE(os.stat(self.state).st_mode), 0o700)
        self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.state, "key")).st_mode), 0o600)

    def test_files_survive_a_restart(self):
        self.tutti("put", "-", "/kept", stdin=b"still here")
        self.tutti("down")
        self.up(servers=3)
        self.assertEqual(self.tutti("cat", "/kept"), "still here")

    def test_down_is_quick(self):
        stopped = self.json("down")
        self.assertEqual(len(stopped), 4)
        self.assertFalse(any(each["killed"] for each in stopped))


if __name__ == "__main__":
    unittest.main()
