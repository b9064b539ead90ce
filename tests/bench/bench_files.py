#!/usr/bin/python3
"""What a recording weighs and how fast it is read, beside the JDK's reader.

    bench_files.py BUILD events|reader WORK LOAD

In: build/, redis, a JDK. Out: lines `CASE VARIANT VALUE`, or `skip CASE why`:
  events   bytes per event of redis traffic, preset profile: in the ring, in the file plain and compressed; the
           same calls in a trace of LTTng-UST (BENCH_LTTNG=1)
  reader   processor time (ms) of reading every event with its stack, of printing all as JSON, memory (KiB)
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
WORK = pathlib.Path(sys.argv[3]).resolve()
LOAD = float(sys.argv[4])
HOLTER = str(BUILD / "holter")
PORT = 7470
WRAPPER = "/usr/lib/x86_64-linux-gnu/liblttng-ust-libc-wrapper.so"


def text_of(*command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False).stdout


def environment(**extra):
    env = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "HOLTER")}
    env.update(extra)
    return env


def cost_of(*command):
    """Processor seconds and KiB of memory of a command whose output is thrown away."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def events_in(path, names=None):
    counts = {}
    for line in text_of(HOLTER, "summary", str(path)).splitlines():
        found = re.match(r" (\S+\.\S+) +(\d+) +(\d+)$", line)
        if found and found[1] not in ("jdk.Metadata", "jdk.CheckPoint"):
            counts[found[1]] = int(found[2])
    return sum(count for name, count in counts.items() if names is None or name in names)


def measure_events():
    server = subprocess.Popen(
        ["redis-server", "--port", str(PORT), "--save", "", "--appendonly", "no", "--dir", str(WORK)],
        env=environment(LD_PRELOAD=str(BUILD / "libholter.so"), HOLTER=f"dir={WORK},settings=profile,memory=32M"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if "PONG" in text_of("redis-cli", "-p", str(PORT), "ping"):
                break
            time.sleep(0.05)
        text_of("redis-benchmark", "-p", str(PORT), "-n", str(int(100000 * LOAD)), "-c", "20", "-t", "get,set", "-q")
        plain, packed = WORK / "traffic.jfr", WORK / "traffic.jfr.lz4"
        ring = json.loads(text_of(HOLTER, "check", "--json", str(server.pid)))["chunksFilled"] * 8192
        text_of(HOLTER, "dump", str(server.pid), "-o", str(plain))
        text_of(HOLTER, "dump", str(server.pid), "-o", str(packed))
    finally:
        server.kill()
        server.wait()
    count = events_in(plain)
    print(f"bytes ring {ring / count:.2f}")
    print(f"bytes plain {plain.stat().st_size / count:.2f}")
    print(f"bytes lz4 {packed.stat().st_size / events_in(packed):.2f}")


def measure_lttng():
    """A trace of malloc and free to files: bytes of its streams by the calls made."""
    out, session = WORK / "lttng-bytes", f"holter-bytes-{os.getpid()}"
    pairs = int(100000 * LOAD)
    text_of("lttng", "create", session, f"--output={out}")
    text_of("lttng", "enable-channel", "-u", "-s", session, "bench", "--subbuf-size=4M", "--num-subbuf=4")
    text_of("lttng", "enable-event", "-u", "-s", session, "-c", "bench", "lttng_ust_libc:*")
    text_of("lttng", "start", session)
    subprocess.run([str(BUILD / "bench/bench_peer"), "pairs", str(pairs)], env=environment(LD_PRELOAD=WRAPPER),
                   stdout=subprocess.DEVNULL, check=False)
    text_of("lttng", "stop", session)
    text_of("lttng", "destroy", session)
    streams = [path for path in glob.glob(f"{out}/**/bench_*", recursive=True) if os.path.isfile(path)]
    total = sum(os.stat(path).st_blocks * 512 for path in streams)
    if total:
        print(f"bytes lttng {total / pairs / 2:.2f}")


def record_reads(count):
    """A recording of `count` events of 11 frames each."""
    for old in WORK.glob("*bench_peer*.jfr"):
        old.unlink()
    subprocess.run([str(BUILD / "bench/bench_peer"), "reads", str(count)], check=False, env=environment(
        LD_PRELOAD=str(BUILD / "libholter.so"),
        HOLTER=f"dir={WORK},memory=64M,dumponexit=true,compress=no,stackdepth=11,alloc=off,FileRead#enabled=true,"
               "FileRead#threshold=0ms,FileRead#stackTrace=true"))
    return next(iter(WORK.glob("*bench_peer*.jfr"))).rename(WORK / f"reads-{count}.jfr")


def measure_reader():
    count = int(200000 * LOAD)
    large, small = record_reads(count), record_reads(count // 10)
    print(f"reader events {events_in(large, {'jdk.FileRead'})}")
    ours = text_of(str(BUILD / "bench/bench_reader"), "1", "1", str(large))
    print(f"reader holter {re.search(r'stacks +[0-9.]+ ns an event, +([0-9.]+) ms', ours)[1]}")
    print(f"reader mib {large.stat().st_size / 1048576:.2f}")
    for name, path in (("small", small), ("large", large)):
        print(f"reader-memory {name} {cost_of(HOLTER, 'print', '--json', str(path))[1]}")
    print(f"print holter {cost_of(HOLTER, 'print', '--json', str(large))[0] * 1e3:.1f}")
    if not shutil.which("java") or not shutil.which("jfr"):
        print("skip reader no JDK")
        return
    source = str(pathlib.Path(__file__).with_name("BenchReader.java"))
    print(f"reader jdk {text_of('java', source, str(large), '12').split()[0]}")
    print(f"print jdk {cost_of('jfr', 'print', '--json', str(large))[0] * 1e3:.1f}", flush=True)


def main():
    if sys.argv[2] == "reader":
        measure_reader()
        return
    if shutil.which("redis-benchmark"):
        measure_events()
    else:
        print("skip bytes no redis")
    if os.environ.get("BENCH_LTTNG") == "1":
        measure_lttng()


if __name__ == "__main__":
    sys.exit(main())
