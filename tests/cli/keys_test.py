"""The servers' key is changed in three rounds of restarts, in any order; the cluster serves after each restart."""

import os
import random
import unittest

from support import MIB, CommandTest, write_file


class ServersKey(CommandTest):
    SERVERS = 2

    def setUp(self):
        super().setUp()
        self.up(servers=self.SERVERS)
        self.path = os.path.join(self.state, "key")
        with open(self.path, "rb") as file:
            self.old = file.read()
        self.new = os.urandom(len(self.old))

    def put_key(self, content):
        with open(os.open(self.path + ".next", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(content)
        os.rename(self.path + ".next", self.path)

    def restart(self, name):
        self.kill(name)
        self.tutti("up")

    def daemons(self):
        return ["meta"] + [f"data.{index}" for index in range(self.SERVERS)]

    def test_changes_in_three_rounds_of_restarts_in_any_order(self):
        order = random.Random(1)
        for content in (self.old + self.new, self.new + self.old, self.new):
            self.put_key(content)
            for name in order.sample(self.daemons(), len(self.daemons())):
                self.restart(name)
                self.check_round_trip()

    def test_a_server_with_another_key_believes_nobody(self):
        self.put_key(self.new)
        self.restart("data.1")
        source = write_file(self.local("in"), MIB)  # some of it on each server
        self.fails("put", source, "/f", says="capability")
        self.put_key(self.old)
        self.restart("data.1")
        self.check_round_trip()


if __name__ == "__main__":
    unittest.main()
