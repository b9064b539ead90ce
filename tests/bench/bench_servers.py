#!/usr/bin/python3
"""CPU per request of real servers, bare and under recorders, interleaved within one run.

In: servers and clients of Debian, the shim and the no-op shim of build/; peers: with BENCH_LTTNG=1 a
session of LTTng-UST that records, heaptrack where it is installed. All variants of a server run at once,
each on its own port; rounds of load go over them in turn. Out: a table: user and system time of the server
per request, as the ratio to bare, median over the rounds, with the lowest and highest; with --raw lines
`server:NAME VARIANT MICROSECONDS`, one a round. The second bare variant (A/A) is the noise: a ratio inside
its range says nothing.
"""
import argparse
import contextlib
import copy
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK")


def cpu_of(pids):
    """User and system seconds of processes and of the children they waited for."""
    total = 0.0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            tasks = list(pathlib.Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            continue
        exact = 0
        for task in tasks:
            try:
                exact += int((task / "schedstat").read_text().split()[0])
            except OSError:
                pass
        total += exact / 1e9 if exact else (int(fields[11]) + int(fields[12])) / TICK
        total += (int(fields[13]) + int(fields[14])) / TICK
    return total


def children_of(pid):
    found = [pid]
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                found += children_of(int(entry.name))
    return found


def run(command, env=None):
    return subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False).stdout


def wait_port(port):
    import socket
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise RuntimeError(f"no server on port {port}")


class Case:
    """A server, its client and how many requests the client made."""
    name = port = None

    def at(self, port):
        """The same on another port."""
        other = copy.copy(self)
        other.port = port
        return other

    def start(self, env, work):
        raise NotImplementedError

    def load(self):
        raise NotImplementedError


class Redis(Case):
    port = 7379

    def __init__(self, pipeline, requests):
        self.name = f"redis -P{pipeline}"
        self.pipeline, self.requests = pipeline, requests

    def start(self, env, work):
        return subprocess.Popen(["redis-server", "--port", str(self.port), "--save", "",
                                 "--appendonly", "no", "--dir", work], env=env,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def load(self):
        run(["redis-benchmark", "-p", str(self.port), "-n", str(self.requests), "-P",
             str(self.pipeline), "-c", "20", "-t", "get,set", "-q"])
        return 2 * self.requests


class Memcached(Case):
    name, port = "memcached", 17211

    def __init__(self, requests):
        self.requests = requests

    def start(self, env, work):
        return subprocess.Popen(["memcached", "-u", "root", "-p", str(self.port), "-l", "127.0.0.1",
                                 "-t", "1"], env=env, cwd=work)

    def load(self):
        run(["memcslap", f"--servers=127.0.0.1:{self.port}", "--concurrency=8",
             f"--execute-number={self.requests // 8}", "--test=get"])
        return self.requests


class Nginx(Case):
    name, port = "nginx", 18080

    def __init__(self, seconds):
        self.seconds = seconds

    def start(self, env, work):
        root = pathlib.Path(work)
        (root / "index.html").write_text("x" * 1000)
        (root / "nginx.conf").write_text(f"""
daemon off; worker_processes 1; pid {work}/nginx.pid; error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{ access_log off; client_body_temp_path {work}; proxy_temp_path {work};
fastcgi_temp_path {work}; uwsgi_temp_path {work}; scgi_temp_path {work};
server {{ listen 127.0.0.1:{self.port}; root {work}; }} }}
""")
        os.chmod(work, 0o755)
        return subprocess.Popen(["nginx", "-c", f"{work}/nginx.conf", "-p", work], env=env,
                                stderr=subprocess.DEVNULL)

    def load(self):
        text = run(["wrk", "-t1", "-c16", f"-d{self.seconds}s", f"http://127.0.0.1:{self.port}/index.html"])
        return int(re.search(r"(\d+) requests in", text).group(1))


class Postgres(Case):
    name, port = "pgbench -S", 15433
    binary = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))), None)

    def __init__(self, seconds):
        self.seconds = seconds

    def start(self, env, work):
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        shutil.chown(work, "postgres")
        data = f"{work}/data"
        run(as_user + [f"{self.binary}/initdb", "-D", data, "-A", "trust", "--no-sync"])
        keep = {key: value for key, value in env.items() if key in ("LD_PRELOAD", "HOLTER")}
        server = subprocess.Popen(as_user + ["env"] + [f"{k}={v}" for k, v in keep.items()] +
                                  [f"{self.binary}/postgres", "-D", data, "-p", str(self.port), "-k",
                                   work, "-c", "fsync=off"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_port(self.port)
        run(["pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-i", "-q",
             "postgres"])
        return server

    def load(self):
        text = run(["pgbench", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-S",
                    "-c", "4", "-T", str(self.seconds), "-n", "postgres"])
        return int(re.search(r"actually processed: (\d+)", text).group(1))


def environments(build):
    shim = str(build / "libholter.so")
    noop = build / "noop_shim.so"
    variants = {"bare": {}, "bare-again": {}}
    if noop.exists():
        variants["no-op"] = {"LD_PRELOAD": str(noop)}
    variants["off"] = {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp,settings=none"}
    variants["default"] = {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp"}
    variants["profile"] = {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp,settings=profile"}
    return variants


def peers():
    """Other recorders, for the first servers only: they cost much, and so much time."""
    libraries = pathlib.Path("/usr/lib/x86_64-linux-gnu")
    heaptrack = pathlib.Path("/usr/lib/heaptrack/libheaptrack_preload.so")
    variants = {}
    if os.environ.get("BENCH_LTTNG") == "1":
        variants["lttng"] = {"LD_PRELOAD": ":".join(
            str(libraries / f"liblttng-ust-{name}-wrapper.so") for name in ("libc", "pthread"))}
    if heaptrack.exists():
        variants["heaptrack"] = {"LD_PRELOAD": str(heaptrack), "DUMP_HEAPTRACK_OUTPUT": "/dev/null"}
    return variants


def stop(server):
    server.send_signal(signal.SIGTERM)
    try:
        server.wait(10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def start(case, extra, stack):
    """Starts a server, warms it up; it ends with the stack."""
    work = stack.enter_context(tempfile.TemporaryDirectory(prefix="holter-bench-"))
    env = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "HOLTER")}
    env.update(extra)
    server = case.start(env, work)
    stack.callback(stop, server)
    wait_port(case.port)
    case.load()
    return server


def measure(case, server):
    begin = cpu_of(children_of(server.pid))
    requests = case.load()
    return (cpu_of(children_of(server.pid)) - begin) / requests * 1e6


def measure_all(case, variants, rounds):
    """Microseconds per request of each variant, one a round."""
    seen = {name: [] for name in variants}
    with contextlib.ExitStack() as stack:
        running = []
        for number, (name, extra) in enumerate(variants.items()):
            own = case.at(case.port + number)
            running.append((name, own, start(own, extra, stack)))
        for number in range(rounds):
            # Each round begins with another one, so that none always follows the same.
            turn = number * 5 % len(running)
            for name, own, server in running[turn:] + running[:turn]:
                seen[name].append(measure(own, server))
    return seen


def row_of(case, seen, variants):
    row = f"{case.name:<24}"
    for name in variants:
        if name not in seen:
            continue
        ratios = [value / bare for value, bare in zip(seen[name], seen["bare"])]
        if name == "bare":
            row += f"{statistics.median(seen[name]):>23.2f} us"
        else:
            row += f"{statistics.median(ratios):>12.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--load", type=float, default=1.0, help="length of a round, as a factor")
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--raw", action="store_true", help="lines of single values, no table")
    arguments = parser.parse_args()
    load = arguments.load
    cases = [Redis(1, int(15000 * load)), Redis(16, int(150000 * load)), Memcached(int(40000 * load)),
             Nginx(max(1, round(load))), Postgres(max(1, round(load)))]
    common = environments(pathlib.Path(arguments.build).resolve())
    variants = {**common, **peers()}
    need = {"redis": "redis-benchmark", "memcached": "memcslap", "nginx": "wrk", "pgbench": "pgbench"}
    if not arguments.raw:
        print(f"{'server CPU per request':<24}" + "".join(f"{name:>26}" for name in variants))
    for case in cases:
        if arguments.only not in case.name:
            continue
        if not shutil.which(need[case.name.split()[0]]):
            print(f"skip server:{case.name.replace(' ', '')} no {need[case.name.split()[0]]}")
            continue
        seen = measure_all(case, variants if isinstance(case, Redis) else common, arguments.rounds)
        if arguments.raw:
            for name, values in seen.items():
                for value in values:
                    print(f"server:{case.name.replace(' ', '')} {name} {value:.3f}", flush=True)
        else:
            print(row_of(case, seen, variants), flush=True)


if __name__ == "__main__":
    sys.exit(main())
