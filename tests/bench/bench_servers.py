#!/usr/bin/python3
"""CPU per request of real servers, bare and under recorders, interleaved within one run.

In: servers and clients of Debian, the shim and the no-op shim of build/. Out: a table: user and system
time of the server per request, as the ratio to bare, median over the rounds, with the lowest and highest.
The second bare column (A/A) is the noise: a ratio inside its range says nothing.
"""
import argparse
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
    """User and system seconds of processes and of their waited-for children."""
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

    def start(self, env, work):
        return subprocess.Popen(["memcached", "-u", "root", "-p", str(self.port), "-l", "127.0.0.1",
                                 "-t", "2"], env=env, cwd=work)

    def load(self):
        run(["memcslap", f"--servers=127.0.0.1:{self.port}", "--concurrency=8",
             "--execute-number=10000", "--test=get"])
        return 80000


class Nginx(Case):
    name, port = "nginx", 18080

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
        text = run(["wrk", "-t1", "-c16", "-d2s", f"http://127.0.0.1:{self.port}/index.html"])
        return int(re.search(r"(\d+) requests in", text).group(1))


class Postgres(Case):
    name, port = "pgbench -S", 15433
    binary = next(iter(sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))), None)

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
                    "-c", "4", "-T", "2", "-n", "postgres"])
        return int(re.search(r"actually processed: (\d+)", text).group(1))


def environments(build):
    shim = str(build / "libholter.so")
    return {
        "bare": {},
        "bare (A/A)": {},
        "no-op shim": {"LD_PRELOAD": str(build / "noop_shim.so")},
        "holter off": {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp,settings=none"},
        "holter default": {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp"},
        "holter profile": {"LD_PRELOAD": shim, "HOLTER": "dir=/tmp,settings=profile"},
    }


def measure(case, extra):
    with tempfile.TemporaryDirectory(prefix="holter-bench-") as work:
        env = {key: value for key, value in os.environ.items()
               if key not in ("LD_PRELOAD", "HOLTER")}
        env.update(extra)
        server = case.start(env, work)
        try:
            wait_port(case.port)
            case.load()
            pids = children_of(server.pid)
            begin = cpu_of(pids)
            requests = case.load()
            return (cpu_of(children_of(server.pid)) - begin) / requests
        finally:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--build", default=str(ROOT / "build/release"))
    parser.add_argument("--only", default="", help="cases whose name contains this")
    arguments = parser.parse_args()
    cases = [Redis(1, 60000), Redis(16, 600000), Memcached(), Nginx(), Postgres()]
    variants = environments(pathlib.Path(arguments.build))
    need = {"redis": "redis-benchmark", "memcached": "memcslap", "nginx": "wrk", "pgbench": "pgbench"}
    print(f"{'server CPU per request':<24}" + "".join(f"{name:>26}" for name in variants))
    for case in cases:
        if arguments.only not in case.name:
            continue
        if not shutil.which(need[case.name.split()[0]]):
            print(f"{case.name:<24}  skipped: no {need[case.name.split()[0]]}")
            continue
        seen = {name: [] for name in variants}
        for _ in range(arguments.rounds):
            for name, extra in variants.items():
                seen[name].append(measure(case, extra))
        row = f"{case.name:<24}"
        for name, values in seen.items():
            ratios = [value / bare for value, bare in zip(values, seen["bare"])]
            if name == "bare":
                row += f"{statistics.median(values) * 1e6:>23.2f} us"
            else:
                row += (f"{statistics.median(ratios):>12.3f}"
                        f" ({min(ratios):.2f} to {max(ratios):.2f})")
        print(row, flush=True)


if __name__ == "__main__":
    sys.exit(main())
