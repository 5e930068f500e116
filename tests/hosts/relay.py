"""A TCP relay that can be told to stall, delay and cut what passes through it.

    relay.py LISTEN_HOST LISTEN_PORT TO_HOST TO_PORT

Commands come on standard input, one a line, each answered with "ok", and `seen` with a number first:
    stall        nothing passes any more; connections stay open
    delay MS     whatever passes is held back for that long
    cut          all connections are closed, new ones refused
    go           as at the start
    seen TEXT    in how many pieces of what has passed so far the text was (only what passed after the first such command)
"""

import asyncio
import sys

CHUNK = 256 << 10


class Relay:
    def __init__(self, to_host, to_port):
        self.to = (to_host, to_port)
        self.open = asyncio.Event()
        self.open.set()
        self.refusing = False
        self.delay = 0.0
        self.writers = set()
        self.text = None
        self.seen = 0

    async def pump(self, reader, writer):
        try:
            while data := await reader.read(CHUNK):
                if self.text and self.text in data:
                    self.seen += 1
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self.open.wait()
                writer.write(data)
                await writer.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            writer.close()

    async def serve(self, reader, writer):
        if self.refusing:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(*self.to)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, far_writer}
        self.writers |= ends
        await asyncio.gather(self.pump(reader, far_writer), self.pump(far_reader, writer))
        self.writers -= ends

    def obey(self, words):
        if words[0] == "stall":
            self.open.clear()
        elif words[0] == "delay":
            self.delay = float(words[1]) / 1000
        elif words[0] == "cut":
            self.refusing = True
            for writer in list(self.writers):
                writer.transport.abort()
        elif words[0] == "go":
            self.refusing, self.delay = False, 0.0
            self.open.set()
        elif words[0] == "seen":
            self.text = words[1].encode()
            print(self.seen, flush=True)
        else:
            raise ValueError(words)


async def main():
    host, port, to_host, to_port = sys.argv[1:5]
    relay = Relay(to_host, int(to_port))
    await asyncio.start_server(relay.serve, host, int(port))
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
    )
    print("ok", flush=True)
    while line := await commands.readline():
        relay.obey(line.decode().split())
        print("ok", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
