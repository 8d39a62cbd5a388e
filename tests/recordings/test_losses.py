"""The parts of the tries to lose records on a real cluster that can be tested without a cluster."""

from __future__ import annotations

import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.cluster.proxy import ALTER_PARTITION, FETCH, Kind, Proxy
from benchmarks.cluster.tries import Outcome, forgotten

METADATA = Kind("raft-client-0", FETCH)
OTHERS = [Kind("raft-client-1", FETCH), Kind("raft-client-0", ALTER_PARTITION), Kind("0", ALTER_PARTITION)]
PATIENCE = 10.0


def request(kind: Kind, number: int) -> bytes:
    """A request that consists only of a header in Kafka's form."""
    header = kind.api.to_bytes(2, "big") + (0).to_bytes(2, "big") + number.to_bytes(4, "big")
    frame = header + len(kind.client).to_bytes(2, "big") + kind.client.encode()
    return len(frame).to_bytes(4, "big") + frame


class Echo(socketserver.StreamRequestHandler):
    """Answers each request with only its number."""

    def handle(self) -> None:
        while length := self.rfile.read(4):
            self.wfile.write(self.rfile.read(int.from_bytes(length, "big"))[4:8])


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Server(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        found = Proxy(server.server_address[1])
        yield found
        found.close()
        server.shutdown()


@contextmanager
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as found:
        yield found


def answered(connection: socket.socket, seconds: float) -> list[int]:
    """The numbers of the requests that are answered within `seconds`."""
    connection.settimeout(seconds)
    found = []
    try:
        while True:
            found.append(int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big"))
            connection.settimeout(0.1)
    except TimeoutError:
        return found


def waits(proxy: Proxy, kind: Kind, count: int) -> None:
    until = time.monotonic() + PATIENCE
    while proxy.waiting(kind) != count:
        assert time.monotonic() < until, f"{proxy.waiting(kind)} wait, not {count}"
        time.sleep(0.01)


def test_only_the_kind_that_is_held_waits(proxy: Proxy) -> None:
    proxy.hold(METADATA)
    with client(proxy) as metadata, client(proxy) as others:
        metadata.sendall(request(METADATA, 1))
        for number, kind in enumerate(OTHERS, 10):
            others.sendall(request(kind, number))
        assert answered(others, PATIENCE) == [10, 11, 12]
        waits(proxy, METADATA, 1)
        assert answered(metadata, 0.1) == []
        proxy.release(METADATA)
        assert answered(metadata, PATIENCE) == [1]
        metadata.sendall(request(METADATA, 3))
        assert answered(metadata, PATIENCE) == [3]


def test_one_request_is_let_through(proxy: Proxy) -> None:
    proxy.hold(METADATA)
    with client(proxy) as metadata:
        metadata.sendall(request(METADATA, 1) + request(METADATA, 2))
        waits(proxy, METADATA, 1)
        proxy.let_one_through(METADATA)
        assert answered(metadata, PATIENCE) == [1]
        waits(proxy, METADATA, 1)


def test_a_request_of_a_client_that_has_given_up_is_not_let_through(proxy: Proxy) -> None:
    proxy.hold(METADATA)
    with client(proxy) as gone:
        gone.sendall(request(METADATA, 1))
        waits(proxy, METADATA, 1)
    waits(proxy, METADATA, 0)
    with client(proxy) as metadata:
        metadata.sendall(request(METADATA, 2))
        waits(proxy, METADATA, 1)
        proxy.let_one_through(METADATA)
        assert answered(metadata, PATIENCE) == [2]


def test_a_late_request_is_answered_later(proxy: Proxy) -> None:
    proxy.delay(METADATA, 0.3)
    with client(proxy) as metadata:
        metadata.sendall(request(METADATA, 1))
        assert answered(metadata, 0.1) == []
        assert answered(metadata, PATIENCE) == [1]


ASKED = "DEBUG [Partition t-0 broker=0] Submitting ISR state change PendingExpandIsr(newInSyncReplicaId=1, ...)"
REFUSED = "DEBUG [Partition t-0 broker=0] Ignoring failed ISR update to PendingExpandIsr(...)"


def reported(version: int) -> str:
    return f"INFO [Partition t-0 broker=0] ISR updated to 0,2  and version updated to {version}"


def heard(version: int) -> str:
    return f"INFO [Broker id=0] Skipped the become-leader state change for t-0 with ... partitionEpoch={version})"


@pytest.mark.parametrize(
    ("lines", "count"),
    [
        ([ASKED, reported(2), ASKED, heard(2), REFUSED], 1),
        ([ASKED, reported(2), heard(2), ASKED, reported(3), heard(3)], 0),  # it hears before it asks again
        ([ASKED, reported(2), ASKED, reported(3), heard(2)], 0),  # it is answered before it hears
        ([ASKED, heard(2), REFUSED, ASKED, reported(3)], 0),  # what it hears is its own request, granted
    ],
)
def test_an_expansion_is_forgotten_where_what_is_known_is_heard_while_another_is_asked_for(
    lines: list[str], count: int
) -> None:
    assert forgotten(lines) == count


def test_what_is_acknowledged_and_not_read_is_lost() -> None:
    assert Outcome(frozenset({"base", "r2", "r10"}), ("base", "r1"), 0).lost == ["r2", "r10"]
