#!/usr/bin/env python3
"""A second opinion on when the first output of a request arrived.

    raw_reader.py --to HOST:PORT --log FILE

It stands between a client and a server and passes every byte on. It says
"listening on PORT" on stdout and writes one JSON line for each request that
has come to its end:

    sent_unix_ns  when the last byte of the request came, wall time
    ttft_ms       from there to the read that brought the first output; null
                  where none came
    text          all content, joined
    status        of the response

There are no HTTP or SSE libraries in it, and nothing is shared with tokwatt but
the definition of an output: a data line with content, reasoning or a tool call
that is not empty. Both stamps are taken on a monotonic clock, right behind the
read that brought the bytes, before these are passed on or looked at. What the
client sees is later by the way through here, so its time to the first output
is longer by a fraction of a millisecond.

It reads what servers of the plain kind send: a request with Content-Length and
a response that ends with the connection. A chunked response is passed on, and
its line in the log says that it was not read.
"""

import argparse
import json
import selectors
import signal
import socket
import sys
import time

READ = 1 << 16
ORIGIN_NS = time.time_ns() - time.monotonic_ns()


class Request:
    """Finds the end of a request in the bytes that come from a client."""

    def __init__(self):
        self.head = None
        self.seen = b""
        self.whole_ns = None

    def feed(self, data, now_ns):
        self.seen += data
        if self.head is None:
            head, found, body = self.seen.partition(b"\r\n\r\n")
            if not found:
                return
            self.head, self.seen = head, body
        if self.whole_ns is None and len(self.seen) >= self.length():
            self.whole_ns = now_ns

    def length(self):
        for line in self.head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                return int(value)
        return 0


class Response:
    """Finds the first output in the bytes that come from a server."""

    def __init__(self):
        self.head = None
        self.rest = b""
        self.first_ns = None
        self.text = []

    def feed(self, data, now_ns):
        self.rest += data
        if self.head is None:
            head, found, body = self.rest.partition(b"\r\n\r\n")
            if not found:
                return
            self.head, self.rest = head, body
        if self.chunked():
            return
        *lines, self.rest = self.rest.split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and (output := outputs(line[5:].strip())):
                self.first_ns = self.first_ns or now_ns
                self.text.append(output.get("content") or "")

    def status(self):
        return int(self.head.split(b" ", 2)[1]) if self.head else None

    def chunked(self):
        return self.head is not None and b"chunked" in self.head.lower()


def outputs(data):
    """The delta of a data line if it holds output, else None."""
    if data == b"[DONE]":
        return None
    for choice in json.loads(data).get("choices", []):
        delta = choice.get("delta", {})
        if any(delta.get(k) for k in ("content", "reasoning", "reasoning_content", "tool_calls")):
            return delta
    return None


class Exchange:
    """One connection of a client and the one to the server that belongs to it."""

    def __init__(self, client, server):
        self.client, self.server = client, server
        self.request, self.response = Request(), Response()

    def record(self):
        sent, first = self.request.whole_ns, self.response.first_ns
        if sent is None:
            return None
        return {
            "sent_unix_ns": ORIGIN_NS + sent,
            "ttft_ms": (first - sent) / 1e6 if first else None,
            "text": "".join(self.response.text),
            "status": self.response.status(),
            "chunked": self.response.chunked(),
        }


class Relay:
    def __init__(self, to, log):
        self.to, self.log = to, log
        self.ready = selectors.DefaultSelector()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.ready.register(self.listener, selectors.EVENT_READ, self.accept)

    def run(self):
        print(f"listening on {self.listener.getsockname()[1]}", flush=True)
        while True:
            for key, _ in self.ready.select():
                if key.fileobj.fileno() >= 0:  # not closed by the turn before
                    key.data()

    def accept(self):
        client, _ = self.listener.accept()
        try:
            server = socket.create_connection(self.to)
        except OSError:
            client.close()
            return
        for s in (client, server):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        x = Exchange(client, server)
        self.ready.register(client, selectors.EVENT_READ, lambda: self.forward(x, client, server, x.request))
        self.ready.register(server, selectors.EVENT_READ, lambda: self.forward(x, server, client, x.response))

    def forward(self, x, source, sink, reader):
        try:
            data = source.recv(READ)
            now_ns = time.monotonic_ns()
            sink.sendall(data)
        except OSError:
            data = b""
        if data:
            reader.feed(data, now_ns)
            return
        if source is x.server:
            self.finish(x)
            return
        self.ready.unregister(source)  # the client has said all; it may still listen
        try:
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            self.finish(x)

    def finish(self, x):
        for s in (x.client, x.server):
            if s in self.ready.get_map():
                self.ready.unregister(s)
            s.close()
        if record := x.record():
            self.log.write(json.dumps(record) + "\n")
            self.log.flush()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--to", required=True, metavar="HOST:PORT")
    p.add_argument("--log", required=True, metavar="FILE")
    a = p.parse_args()
    host, port = a.to.rsplit(":", 1)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with open(a.log, "w", encoding="utf-8") as log:
        Relay((host, int(port)), log).run()


if __name__ == "__main__":
    main()
