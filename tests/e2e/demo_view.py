#!/usr/bin/python3
"""The view of `make demo`: top waits with stacks, top sockets, top allocators, from JSON on stdin."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from judge import functions, lookup, nanoseconds  # pylint: disable=wrong-import-position

WAITS = {"jdk.JavaMonitorEnter": "lock", "jdk.JavaMonitorWait": "condition", "jdk.ThreadPark": "park",
         "jdk.ThreadSleep": "sleep", "jdk.FileForce": "fsync", "jdk.FileWrite": "file write",
         "jdk.FileRead": "file read"}


def span(ns):
    for unit, name in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if ns >= unit:
            return "%.3g %s" % (ns / unit, name)
    return "%d ns" % ns


def size(count):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return "%.1f %s" % (count / unit, name)
    return "%d B" % count


def add(table, key, *amounts):
    row = table.setdefault(key, [0] * len(amounts))
    for i, amount in enumerate(amounts):
        row[i] += amount


def top(table, column, count=4):
    return sorted(table.items(), key=lambda item: -item[1][column])[:count]


def stack(event, depth=7):
    return " < ".join(functions(event)[:depth]) or "(no stack)"


def main():
    events = json.load(sys.stdin)["recording"]["events"]
    waits, sockets, allocations = {}, {}, {}
    for event in events:
        kind, values = event["type"], event["values"]
        duration = nanoseconds(values.get("duration") or "PT0S") or 0
        if kind in WAITS:
            what = lookup(values, "monitorClass.name") or lookup(values, "path") or ""
            add(waits, (WAITS[kind], what, stack(event)), 1, duration)
        elif kind in ("jdk.SocketRead", "jdk.SocketWrite"):
            key = "%s:%s" % (values["address"], values["port"]) if kind == "jdk.SocketRead" else None
            peer = key or "%s:%s" % (values["address"], values["port"])
            moved = values.get("bytesRead") or values.get("bytesWritten") or 0
            add(sockets, peer, 1, moved, duration)
        elif kind == "profiler.Malloc":
            add(allocations, stack(event), 1, values["weight"])
        elif kind == "jdk.DataLoss":
            print("lost: %s %s" % (values.get("events"), values.get("cause")))
        elif kind == "jdk.DumpReason":
            print("why this file was written: %s" % values["reason"])
    print("top waits")
    for (what, subject, where), (count, total) in top(waits, 1):
        print("  %8s in %d x %s %s\n           %s" % (span(total), count, what, subject, where))
    print("top sockets (calls that took longest, by peer)")
    for peer, (count, moved, total) in top(sockets, 2):
        print("  %8s in %d calls, %s, %s" % (span(total), count, size(moved), peer))
    print("top allocators (estimated bytes)")
    for where, (count, weight) in top(allocations, 1):
        print("  %8s in %d samples\n           %s" % (size(weight), count, where))


if __name__ == "__main__":
    main()
