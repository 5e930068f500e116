"""Opens COUNT connections to HOST PORT and leaves them silent until standard input ends.

Prints how many were opened."""

import resource
import select
import socket
import sys


def open_one(host, port):
    peer = socket.socket()
    peer.setblocking(False)
    peer.connect_ex((host, port))
    return peer


def main():
    host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    if hard != resource.RLIM_INFINITY:
        count = min(count, hard - 64)
    poll = select.epoll()
    poll.register(sys.stdin.fileno(), select.EPOLLIN | select.EPOLLHUP)
    peers = {}
    opened = 0

    def add():
        nonlocal opened
        peer = open_one(host, port)
        peers[peer.fileno()] = peer
        poll.register(peer.fileno(), select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLHUP)
        opened += 1

    for number in range(count):
        add()
        if number % 256 == 255:
            poll.poll(0.01)
    print(opened, flush=True)
    while True:
        for fd, _ in poll.poll(1.0, 256):
            if fd == sys.stdin.fileno():
                return
            if fd in peers:
                poll.unregister(fd)
                peers.pop(fd).close()


if __name__ == "__main__":
    main()
