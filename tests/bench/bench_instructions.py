#!/usr/bin/python3
"""Instructions per request that a recorder adds to redis-server, counted by callgrind.

In: redis, valgrind, the shims of build/. Each variant serves two numbers of GET requests, one at a time; the
difference is the requests' own. Out: lines `instructions VARIANT N` (user instructions per request, all
objects) and `instructions-own VARIANT N` (those executed in the shim). Counted, not timed: no noise of the
machine is in the second; the first also has what redis does by its clock.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
REQUESTS = (500, 500 + int(sys.argv[2]))
PORT = 7460


def cost_of(path):
    """All instructions, and those of our objects: callgrind's own format, costs of calls left out."""
    total = own = 0
    names = {}
    is_own = is_call = False
    for line in path.read_text(errors="replace").splitlines():
        found = re.match(r"ob=\((\d+)\)(?: (.*))?", line)
        if found:
            if found[2]:
                names[found[1]] = found[2]
            is_own = pathlib.Path(names[found[1]]).name in ("libholter.so", "noop_shim.so")
        elif line.startswith(("cob=",)):
            found = re.match(r"cob=\((\d+)\)(?: (.*))?", line)
            if found and found[2]:
                names[found[1]] = found[2]
        elif line.startswith("calls="):
            is_call = True
        elif re.match(r"[+*\-\d]", line):
            fields = line.split()
            if not is_call and len(fields) > 1:
                total += int(fields[1])
                own += int(fields[1]) if is_own else 0
            is_call = False
    return total, own


def serve(extra, requests, work):
    env = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "HOLTER")}
    env.update(extra)
    out = pathlib.Path(work) / "callgrind.out"
    server = subprocess.Popen(
        ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "redis-server", "--port", str(PORT),
         "--save", "", "--appendonly", "no", "--dir", work], env=env, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)

    def client(*command):
        return subprocess.run([command[0], "-p", str(PORT), *command[1:]], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False).stdout

    try:
        for _ in range(400):
            if "PONG" in client("redis-cli", "ping"):
                break
            time.sleep(0.05)
        client("redis-benchmark", "-n", str(requests), "-c", "1", "-t", "get", "-q")
        client("redis-cli", "shutdown", "nosave")
        server.wait(60)
    finally:
        server.kill()
        server.wait()
    return cost_of(out)


def main():
    shim = str(BUILD / "libholter.so")
    common = "dir=/tmp,leader=none,signal=none"
    variants = {
        "bare": {},
        "no-op": {"LD_PRELOAD": str(BUILD / "noop_shim.so")},
        "off": {"LD_PRELOAD": shim, "HOLTER": common + ",settings=none"},
        "default": {"LD_PRELOAD": shim, "HOLTER": common},
        "profile": {"LD_PRELOAD": shim, "HOLTER": common + ",settings=profile"},
    }
    with tempfile.TemporaryDirectory(prefix="holter-bench-") as work:
        for name, extra in variants.items():
            few, many = (serve(extra, count, work) for count in REQUESTS)
            step = REQUESTS[1] - REQUESTS[0]
            print(f"instructions {name} {(many[0] - few[0]) / step:.1f}")
            print(f"instructions-own {name} {(many[1] - few[1]) / step:.1f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
