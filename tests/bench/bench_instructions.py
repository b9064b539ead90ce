#!/usr/bin/python3
"""Instructions per request that a recorder adds to redis-server.

    bench_instructions.py BUILD REQUESTS

In: redis, bench_steps and the shims of build/. Out: lines `instructions VARIANT N` (user instructions per GET
request, all objects) and `instructions-own VARIANT N` (those executed in the shim). Counted by single steps:
callgrind cannot host the shim, and virtual machines have no counters.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
PORT = 7460


def main():
    shim = str(BUILD / "libholter.so")
    noop = str(BUILD / "noop_shim.so")
    variants = {
        "bare": {},
        "no-op": {"LD_PRELOAD": noop},
        "off": {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp,settings=none"},
        # Stepping makes every call long: what stays below its threshold otherwise shall do so here.
        "default": {"LD_PRELOAD": shim,
                    "HOLTER": "dir=/tmp,SocketRead#threshold=3600s,SocketWrite#threshold=3600s"},
        "profile": {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp,settings=profile"},
    }
    for number, (name, extra) in enumerate(variants.items()):
        port = str(PORT + number)
        with tempfile.TemporaryDirectory(prefix="holter-bench-") as work:
            # `env` sets the variables, so that nothing but the server is preloaded.
            command = [str(BUILD / "bench/bench_steps"), sys.argv[2], port, "env",
                       *(f"{key}={value}" for key, value in extra.items()), "redis-server", "--port", port,
                       "--save", "", "--appendonly", "no", "--hz", "1", "--dir", work]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, timeout=100,
                                  env={key: value for key, value in os.environ.items()
                                       if key not in ("LD_PRELOAD", "HOLTER")})
        found = re.match(r"all (\d+)\nshim (\d+)\n", done.stdout)
        if not found:
            print("skip instructions the server cannot be stepped")
            return
        print(f"instructions {name} {found[1]}\ninstructions-own {name} {found[2]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
