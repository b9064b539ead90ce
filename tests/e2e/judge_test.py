#!/usr/bin/python3
"""Tests of judge.py: a judge that never complains is worth nothing."""
import json
import os
import subprocess
import sys
import tempfile

THREAD = {"osName": "worker", "osThreadId": 7, "group": {"parent": None, "name": "app[7]"}}


def frame(name):
    return {"method": {"type": {"name": "app"}, "name": name}, "lineNumber": -1}


EVENTS = [
    {"type": "jdk.SocketRead", "values": {
        "duration": "PT0.02S", "eventThread": THREAD, "bytesRead": 10, "port": 80, "address": "127.0.0.1",
        "endOfStream": False, "stackTrace": {"truncated": False, "frames": [
            frame("read"), frame("get"), frame("serve"), frame("main")]}}},
    {"type": "jdk.SocketRead", "values": {
        "duration": "PT1M0.000000005S", "eventThread": THREAD, "bytesRead": 0, "port": 80,
        "address": "127.0.0.1", "endOfStream": True, "stackTrace": None}},
]
LOSS = {"type": "jdk.DataLoss", "values": {"cause": "x", "events": 5}}

GOOD = [
    "expect jdk.SocketRead count=2 thread=worker",
    "expect jdk.SocketRead count=1 bytesRead=10 endOfStream=false duration>=20ms duration<=20ms",
    "expect jdk.SocketRead count=1 duration>=60s duration=60000000005ns",
    "expect jdk.SocketRead count>=2 sum:bytesRead=10 max:bytesRead<=10 min:bytesRead>=0",
    "expect jdk.SocketRead process=app[7] address~^127",
    "expect jdk.SocketWrite count=0",
    "expect-stack jdk.SocketRead read get serve main",
    "expect-stack jdk.SocketRead count=1 port=80 get ... main",
    "expect-stack jdk.SocketRead ~^g serve",
    "expect-made jdk.SocketRead made=2",
]
BAD = [
    "expect jdk.SocketRead count=3",
    "expect jdk.SocketRead count<=1",
    "expect jdk.SocketRead count=1 bytesRead=11",
    "expect jdk.SocketRead count=1 duration>=21ms duration<=30ms",
    "expect jdk.SocketRead count=2 sum:bytesRead=11",
    "expect jdk.SocketRead thread=other",
    "expect jdk.SocketRead nothing=1",
    "expect jdk.SocketWrite",
    "expect jdk.SocketRead count=2 odd words",
    "expect-stack jdk.SocketRead get read",
    "expect-stack jdk.SocketRead read serve",
    "expect-stack jdk.SocketRead count=2 get",
    "expect-stack jdk.SocketRead main ... read",
    "expect-made jdk.SocketRead made=7",
    "expected jdk.SocketRead",
    "",
]


def run(*arguments):
    return subprocess.run([sys.executable, "tests/e2e/judge.py", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def main():
    passed, failed = 0, 0

    def check(name, good):
        nonlocal passed, failed
        passed, failed = passed + bool(good), failed + (not good)
        if not good:
            print("FAIL judge: " + name)

    with tempfile.TemporaryDirectory() as folder:
        def write(name, content):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(content)
            return path

        def recording(name, events):
            return write(name, json.dumps({"recording": {"events": events}}))

        plain = recording("plain.json", EVENTS)
        lossy = recording("lossy.json", EVENTS + [LOSS])
        for line in GOOD:
            check("accepts " + line, run(write("truth", line + "\n"), plain).returncode == 0)
        for line in BAD:
            check("refuses " + line, run(write("truth", line + "\n"), plain).returncode == 1)
        truth = GOOD[0] + "\n"
        check("refuses losses", run(write("truth", truth), lossy).returncode == 1)
        check("allows losses", run(write("truth", truth + "allow-loss\n"), lossy).returncode == 0)
        check("adds losses", run(write("truth", "expect-made jdk.SocketRead made=7\nallow-loss\n"),
                                 lossy).returncode == 0)
        check("refuses what is no JSON", run(write("truth", truth), write("bad.json", "{")).returncode == 2)
        other = json.loads(json.dumps(EVENTS))
        other[0]["values"]["bytesRead"] = 11
        check("same accepts", run("--same", plain, recording("copy.json", EVENTS[::-1])).returncode == 0)
        check("same refuses a value", run("--same", plain, recording("o.json", other)).returncode == 1)
        check("same refuses a missing event", run("--same", plain, recording("o.json", EVENTS[:1]))
              .returncode == 1)
        check("same refuses one too many", run("--same", plain, recording("o.json", EVENTS + EVENTS[:1]))
              .returncode == 1)
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
