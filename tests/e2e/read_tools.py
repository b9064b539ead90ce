#!/usr/bin/python3
"""Tests of summary, metadata, print, verify, export and symbolize.

In: $O/holter, the recordings in tests/golden, those in $HOLTER_SHARED/data/jfr (default ../shared)
and a JDK's jfr; tests for which something is not there are skipped and counted. Out: a line per test,
then `N passed, N failed, N skipped`.
"""
import csv
import difflib
import glob
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HOLTER = os.path.abspath(os.path.join(os.environ.get("O", "build/release"), "holter"))
SHARED = os.path.join(os.environ.get("HOLTER_SHARED", "../shared"), "data", "jfr")
GOLDEN = sorted(glob.glob("tests/golden/*.jfr"))
# Files whose chunks have one metadata id: a JDK 17 takes the first chunk's clock for all of them,
# which is 180 ns off in the later ones (jfr-format T3); all but times must be the same.
CLOCK_TRAP = {"jdk17-multichunk.jfr"}
TIME = re.compile(r'"\d{4}-\d\d-\d\dT[^"]*"|"PT[^"]*"')

counts = {"ok": 0, "FAIL": 0, "SKIP": 0}
scratch = tempfile.mkdtemp(prefix="holter-read-")


def verdict(kind, name, detail=""):
    counts[kind] += 1
    print("%s %s%s" % (kind, name, ": " + detail if detail and kind == "SKIP" else ""))
    if detail and kind == "FAIL":
        print("\n".join("    " + line for line in detail.splitlines()[:12]))


def holter(*arguments, data=None):
    """Status, stdout, stderr."""
    done = subprocess.run([HOLTER, *arguments], input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=120)
    return done.returncode, done.stdout, done.stderr.decode("utf-8", "replace")


def jfr(*arguments):
    done = subprocess.run(["jfr", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.stdout


def test(function):
    """Runs a test; it raises AssertionError with a text, or unittest-like SkipTest."""
    try:
        function()
        verdict("ok", function.__name__)
    except LookupError as why:
        verdict("SKIP", function.__name__, str(why))
    except AssertionError as why:
        verdict("FAIL", function.__name__, str(why) or "assertion failed")


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def same(ours, theirs, what):
    if ours != theirs:
        diff = difflib.unified_diff(theirs.decode("utf-8", "replace").splitlines(),
                                    ours.decode("utf-8", "replace").splitlines(), "jfr", "holter", n=1,
                                    lineterm="")
        raise AssertionError("%s differs\n%s" % (what, "\n".join(list(diff)[:10])))


def recordings():
    files = GOLDEN + sorted(glob.glob(SHARED + "/*.jfr")) + sorted(glob.glob(SHARED + "/proto/*.jfr"))
    if not shutil.which("jfr"):
        raise LookupError("there is no jfr command")
    return files


def need_shared(name):
    path = os.path.join(SHARED, name)
    if not os.path.exists(path):
        raise LookupError("%s is not there" % path)
    return path


def path_of(name):
    return os.path.join(scratch, name)


def write(name, data):
    with open(path_of(name), "wb") as file:
        file.write(data)
    return path_of(name)


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- the same as jfr ----

def compare_print_text(path):
    status, ours, errors = holter("print", path)
    expect(status == 0, "%s: status %d: %s" % (path, status, errors))
    same(ours, jfr("print", path), "print " + path)


def compare_print_json(path):
    status, ours, errors = holter("print", "--json", path)
    expect(status == 0, "%s: status %d: %s" % (path, status, errors))
    theirs = jfr("print", "--json", "--stack-depth", "64", path)
    if os.path.basename(path) in CLOCK_TRAP:
        hide = lambda data: TIME.sub('"TIME"', data.decode()).encode()
        same(hide(ours), hide(theirs), "print --json " + path)
        return
    same(ours, theirs, "print --json " + path)
    json.loads(ours)


def print_text_is_that_of_jfr():
    for path in recordings():
        compare_print_text(path)


def print_json_is_that_of_jfr():
    for path in recordings():
        compare_print_json(path)


def stack_depth_is_that_of_jfr():
    for path in recordings()[-4:]:
        for depth in ("0", "1", "3", "64"):
            same(holter("print", "--stack-depth", depth, path)[1], jfr("print", "--stack-depth", depth, path),
                 "print --stack-depth %s %s" % (depth, path))


def filters_are_those_of_jfr():
    recordings()
    path = need_shared("jdk17-profile.jfr")
    for option in (["--events", "CPULoad,jdk.GC*"], ["--events", "*Thread*"], ["--categories", "JVM"],
                   ["--categories", "Java*,GC"], ["--events", "GC*", "--categories", "Heap"]):
        same(holter("print", *option, path)[1], jfr("print", *option, path), "print %s" % option)
        same(holter("metadata", *option, path)[1], jfr("metadata", *option, path), "metadata %s" % option)


def metadata_is_that_of_jfr():
    for path in recordings():
        same(holter("metadata", path)[1], jfr("metadata", path), "metadata " + path)


def summary_is_that_of_jfr():
    # Types with equal counts stand in the order of a Java hash table there; here by name.
    for path in recordings():
        ours = holter("summary", path)[1].decode().splitlines()
        ours = [line for line in ours if not line.startswith(" Data loss")]
        same("\n".join(sorted(line for line in ours if line)).encode(),
             "\n".join(sorted(line for line in jfr("summary", path).decode().splitlines() if line)).encode(),
             "summary " + path)


def compressed_is_as_plain():
    framed, plain = "tests/golden/native-proto.jfr.lz4", "tests/golden/native-proto.jfr"
    for command in (["print"], ["print", "--json"], ["metadata"], ["summary"]):
        same(holter(*command, framed)[1], holter(*command, plain)[1], "%s of an LZ4 frame" % command)
        same(holter(*command, "-", data=read(plain))[1], holter(*command, plain)[1], "%s of a pipe" % command)


# ---- json of the others ----

def json_tells_what_text_tells():
    path = "tests/golden/native-proto.jfr"
    summary = json.loads(holter("summary", "--json", path)[1])
    expect(summary["version"] == "2.1" and summary["chunks"] == 2, "summary: %s" % summary)
    text = holter("summary", path)[1].decode()
    for row in summary["types"]:
        expect(re.search(r"^ %s +%d +%d$" % (re.escape(row["name"]), row["count"], row["bytes"]), text, re.M),
               "summary lacks %s" % row)
    types = {row["name"]: row for row in json.loads(holter("metadata", "--json", path)[1])["types"]}
    fields = [field["name"] for field in types["native.MallocSample"]["fields"]]
    expect(fields[:3] == ["startTime", "eventThread", "stackTrace"], "metadata: %s" % fields)
    result = json.loads(holter("verify", "--json", path)[1])["files"][0]
    expect(result["whole"] and result["events"] == 20 and not result["problems"], "verify: %s" % result)


def losses_stand_on_top():
    path = need_shared("proto/native-pages.jfr")
    first = holter("summary", path)[1].decode().strip().splitlines()[0]
    expect("Data loss: 100 bytes" in first, "first line: %s" % first)
    expect(json.loads(holter("summary", "--json", path)[1])["lostBytes"] == 100, "summary --json")


# ---- damage ----

def every_truncation_ends_in_data_or_a_message():
    data = read("tests/golden/mini.jfr")
    whole = holter("print", "tests/golden/mini.jfr")[1].decode()
    for length in range(0, len(data), 7):
        path = write("cut.jfr", data[:length])
        for command in (["print"], ["print", "--json"], ["verify"], ["summary"], ["metadata"],
                        ["export", "--format", "jfr", "-o", path_of("out.jfr")]):
            status, out, errors = holter(*command, path)
            expect(status == 1, "%s of %d bytes: status %d" % (command, length, status))
            expect("cut.jfr: " in errors + out.decode("utf-8", "replace"), "%s of %d bytes says nothing" %
                   (command, length))
            if command == ["print"]:
                # Constants stand at the end of that file: without them texts are missing.
                times = re.findall(r"startTime = .*", out.decode())
                expect(times == re.findall(r"startTime = .*", whole)[:len(times)],
                       "%d bytes give events that were not there" % length)


def damage_is_told_with_its_offset():
    data = bytearray(read("tests/golden/native-proto.jfr"))
    data[len(data) // 3] ^= 0xff
    data[len(data) // 3 + 1] ^= 0xff
    path = write("bad.jfr", bytes(data))
    status, out, _ = holter("verify", path)
    expect(status == 1, "verify: status %d" % status)
    expect(re.search(r"bad\.jfr: offset \d+: .", out.decode()), out.decode())
    status, out, errors = holter("print", path)
    expect(status == 1 and re.search(r"^holter print: .*bad\.jfr: offset \d+: .", errors, re.M), errors)


def broken_frame_is_told():
    data = bytearray(read("tests/golden/native-proto.jfr.lz4"))
    data[len(data) // 2] ^= 0x55
    status, out, errors = holter("verify", write("bad.jfr.lz4", bytes(data)))
    expect(status == 1 and "LZ4" in out.decode() + errors, out.decode() + errors)


def foreign_files_are_refused_in_one_line():
    jdk8 = b"FLR\0\0\0\0\x09" + bytes(200)
    cases = {"text.jfr": b"hello world", "empty.jfr": b"", "jdk8.jfr": jdk8, "zeros.jfr": bytes(4096)}
    for name, data in cases.items():
        path = write(name, data)
        for command in (["print"], ["summary"], ["metadata"], ["export", "--format", "json"], ["verify"],
                        ["symbolize"]):
            status, out, errors = holter(*command, path)
            expect(status == 1, "%s %s: status %d" % (command, name, status))
            expect(errors.count("\n") == 1 and name in errors, "%s %s: %s" % (command, name, errors))
            expect(not out, "%s %s prints on stdout" % (command, name))
    expect("Mission Control" in holter("print", path_of("jdk8.jfr"))[2], "what to do with a file of JDK 8")
    status, _, errors = holter("print", path_of("missing.jfr"))
    expect(status == 1 and "No such file" in errors, errors)
    status, _, errors = holter("print", scratch)
    expect(status == 1 and "folder" in errors and errors.count("\n") == 1, errors)


def wrong_use_has_status_2():
    path = "tests/golden/mini.jfr"
    for arguments in (["print"], ["print", "--nope", path], ["print", "--stack-depth", "x", path],
                      ["print", path, path], ["summary"], ["metadata", "--json=1", path], ["verify"],
                      ["export", path], ["export", "--format", "xml", path], ["export", "--format", "jfr", path],
                      ["export", "--format", "json", "--value", "count", path], ["symbolize"],
                      ["print", "--last", "10", path], ["export", "--format", "csv", "--limit", "x", path]):
        status, out, errors = holter(*arguments)
        expect(status == 2 and errors.count("\n") == 1 and not out, "%s: %d %s" % (arguments, status, errors))


def unknown_events_are_named():
    status, _, errors = holter("print", "--events", "MalocSample", "tests/golden/native-proto.jfr")
    expect(status == 1 and "MallocSample" in errors, errors)
    status, _, errors = holter("print", "--events", "MallocSample,Nope", "tests/golden/native-proto.jfr")
    expect(status == 0 and "Nope" in errors, errors)


def closed_pipe_ends_silently():
    path = max(GOLDEN + glob.glob(SHARED + "/*.jfr"), key=os.path.getsize)
    with subprocess.Popen([HOLTER, "print", "--json", path], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()
        process.wait()
    expect(not errors, errors.decode())


# ---- export ----

def exported_jfr_is_the_same_recording():
    for path in recordings():
        out = path_of("copy.jfr")
        status, _, errors = holter("export", "--format", "jfr", "-o", out, path)
        expect(status == 0, "%s: %s" % (path, errors))
        expect(holter("verify", out)[0] == 0, "%s: the copy is damaged" % path)
        same(holter("print", "--json", out)[1], holter("print", "--json", path)[1], "copy of " + path)
        if os.path.basename(path) not in CLOCK_TRAP:
            same(jfr("print", "--json", "--stack-depth", "64", out),
                 holter("print", "--json", out)[1], "a JDK's view of the copy of " + path)


def exported_jfr_has_only_what_was_chosen():
    path, out = "tests/golden/native-proto.jfr", path_of("some.jfr.lz4")
    status, _, errors = holter("export", "--format", "jfr", "--events", "MallocSample", "-o", out, path)
    expect(status == 0, errors)
    expect(read(out)[:4] == b"\x04\x22\x4d\x18", "not an LZ4 frame")
    same(holter("print", "--json", out)[1], holter("print", "--json", "--events", "MallocSample", path)[1],
         "chosen events")
    if shutil.which("lz4"):
        subprocess.run(["lz4", "-tq", out], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["lz4", "-dfq", out, path_of("some.jfr")], check=True)
        if shutil.which("jfr"):
            expect(jfr("print", "--events", "MallocSample", path_of("some.jfr")) ==
                   jfr("print", "--events", "MallocSample", path), "a JDK sees other events")


def limit_leaves_nothing_behind():
    for form, name in (("json", "big.json"), ("jfr", "big.jfr"), ("jfr", "big.jfr.lz4")):
        status, _, errors = holter("export", "--format", form, "--limit", "100", "-o", path_of(name),
                                   "tests/golden/native-proto.jfr")
        expect(status == 1 and "limit" in errors, errors)
        expect(not glob.glob(path_of(name) + "*"), "%s was left behind" % name)
    status, _, errors = holter("export", "--format", "json", "-o", "/nowhere/x.json", "tests/golden/mini.jfr")
    expect(status == 1 and "/nowhere/x.json" in errors, errors)


def json_export_is_print():
    path = "tests/golden/native-proto.jfr"
    holter("export", "--format", "json", "-o", path_of("e.json"), path)
    same(read(path_of("e.json")), holter("print", "--json", path)[1], "export --format json")


def csv_has_every_event():
    path = "tests/golden/native-proto.jfr"
    events = json.loads(holter("print", "--json", path)[1])["recording"]["events"]
    folder = path_of("tables")
    os.mkdir(folder)
    status, _, errors = holter("export", "--format", "csv", "-o", folder, path)
    expect(status == 0, errors)
    rows = 0
    for name in glob.glob(folder + "/*.csv"):
        with open(name, newline="", encoding="utf-8") as file:
            table = list(csv.DictReader(file))
        chosen = [event["values"] for event in events if event["type"] == os.path.basename(name)[:-4]]
        expect(len(table) == len(chosen), "%s has %d rows, not %d" % (name, len(table), len(chosen)))
        rows += len(table)
        for row, values in zip(table, chosen):
            for key, value in values.items():
                if isinstance(value, int) and not isinstance(value, bool):
                    # A JDK 17 prints unsigned numbers as signed ones.
                    expect(row[key] in (str(value), str(value % 2**64)),
                           "%s.%s is %s, not %s" % (name, key, row[key], value))
    expect(rows == len(events), "%d rows of %d events" % (rows, len(events)))
    status, out, errors = holter("export", "--format", "csv", path)
    expect(status == 2 and not out and "--events" in errors, errors)


def csv_quotes_what_must_be():
    path = need_shared("jdk17-custom.jfr")
    out = holter("export", "--format", "csv", "--events", "JavaExceptionThrow", path)[1].decode()
    table = list(csv.DictReader(io.StringIO(out, newline="")))
    events = json.loads(holter("print", "--json", "--events", "JavaExceptionThrow", path)[1])
    messages = [event["values"]["message"] or "" for event in events["recording"]["events"]]
    expect([row["message"] for row in table] == messages, "messages differ")
    expect(out.endswith("\r\n"), "lines end in CR LF")


def collapsed_adds_up():
    path = "tests/golden/native-proto.jfr"
    events = json.loads(holter("print", "--json", "--events", "MallocSample", path)[1])["recording"]["events"]
    for value, total in (("weight", sum(event["values"]["weight"] for event in events)),
                         ("count", len(events)), ("bytes", sum(event["values"]["size"] for event in events))):
        out = holter("export", "--format", "collapsed", "--events", "MallocSample", "--value", value,
                     path)[1].decode()
        sums = [int(line.rsplit(" ", 1)[1]) for line in out.splitlines()]
        expect(sum(sums) == total, "%s: %d, not %d" % (value, sum(sums), total))
    frames = [frame["method"]["name"] for frame in events[0]["values"]["stackTrace"]["frames"]]
    leaf = out.splitlines()[0].rsplit(" ", 1)[0].split(";")[-1]
    expect(leaf in frames[0] or frames[0] in leaf, "the leaf is %s, not %s" % (leaf, frames[0]))


def times_choose_events():
    path = need_shared("jdk17-custom.jfr")
    whole = json.loads(holter("print", "--json", path)[1])["recording"]["events"]
    part = json.loads(holter("print", "--json", "--begin", "2026-11-30T16:51:28.6Z", "--end",
                             "2026-11-30T16:51:28.7Z", path)[1])["recording"]["events"]
    wanted = [event for event in whole
              if "2026-11-30T16:51:28.6" < event["values"]["startTime"] < "2026-11-30T16:51:28.7"]
    expect(0 < len(wanted) <= len(part) < len(whole), "%d of %d" % (len(part), len(whole)))
    for event in wanted:
        expect(event in part, "an event that began in the time is missing")
    last = holter("print", "--json", "--last", "1h", path)[1]
    expect(json.loads(last)["recording"]["events"] == whole, "--last 1h is all")


# ---- symbolize ----

PROGRAM = r"""
#include <stdlib.h>
#include <stdio.h>
void *volatile kept;
static inline __attribute__((always_inline)) void take(unsigned n) { kept = malloc(n); }
__attribute__((noinline)) void inner_function(unsigned n) { take(n); __asm__ volatile(""); }
__attribute__((noinline)) void outer_function(unsigned n) { inner_function(n); __asm__ volatile(""); }
int main(void)
{
        for (unsigned i = 0; i < 50; i++)
                outer_function(1000 + i);
        puts("ready");
        fflush(stdout);
        return getchar() == EOF;
}
"""


def record_without_symbols(target):
    """A dump of a program that was not symbolized."""
    library = os.path.join(os.path.dirname(HOLTER), "libholter.so")
    with open(path_of("program.c"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    if not shutil.which("gcc") or not os.path.exists(library):
        raise LookupError("gcc or %s is not there" % library)
    subprocess.run(["gcc", "-g", "-O1", "-Wl,--build-id", "-o", path_of("program"), path_of("program.c")],
                   check=True)
    environment = dict(os.environ, LD_PRELOAD=library,
                       HOLTER="dir=%s,settings=everything,alloc=all" % scratch)
    with subprocess.Popen([path_of("program")], env=environment, stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:
        expect(program.stdout.readline() == b"ready\n", "the program did not start")
        status, _, errors = holter("dump", "--no-symbols", "-o", target, str(program.pid))
        program.stdin.close()
        program.wait()
    expect(status == 0, "holter dump: " + errors)


def stacks(path):
    events = json.loads(holter("print", "--json", "--events", "Malloc", path)[1])["recording"]["events"]
    events = [event["values"] for event in events if 1000 <= event["values"]["size"] < 1050]
    return [[frame for frame in event["stackTrace"]["frames"] if frame["method"]["type"]["name"] == "program"]
            for event in events]


def symbolize_names_frames():
    bare, named = path_of("bare.jfr"), path_of("named.jfr")
    record_without_symbols(bare)
    before = stacks(bare)
    expect(len(before) == 50, "%d allocations are recorded" % len(before))
    expect(all(frame["method"]["name"].startswith("0x") for frame in before[0]), "it has names already")
    status, out, errors = holter("symbolize", "--json", "-o", named, bare)
    expect(status == 0, errors)
    modules = {os.path.basename(row["path"]): row for row in json.loads(out)["modules"]}
    expect(modules["program"]["resolved"] >= 3, "%s" % modules)
    for frames in stacks(named):
        names = [frame["method"]["name"] for frame in frames]
        expect(names[:4] == ["take", "inner_function", "outer_function", "main"], "%s" % names)
        expect(frames[0]["type"] == "Inlined" and frames[1]["type"] == "Native", "kinds of frames")
        expect(frames[0]["lineNumber"] == 5, "line %d of take()" % frames[0]["lineNumber"])
        expect(frames[1]["method"]["descriptor"] == "(Lunsigned int;)V" or
               frames[1]["method"]["descriptor"] == "()V", frames[1]["method"]["descriptor"])
    expect(holter("verify", named)[0] == 0, "the result is damaged")
    if shutil.which("jfr"):
        same(jfr("print", "--json", "--stack-depth", "64", named), holter("print", "--json", named)[1],
             "a JDK's view of the result")
    other_events = ["print", "--json", "--stack-depth", "0"]
    same(holter(*other_events, named)[1], holter(*other_events, bare)[1], "everything but stacks")


def symbolize_refuses_another_build():
    bare, named = path_of("bare.jfr"), path_of("other.jfr")
    if not os.path.exists(bare):
        raise LookupError("there is no recording")
    subprocess.run(["gcc", "-g", "-O0", "-Wl,--build-id", "-o", path_of("program"), path_of("program.c")],
                   check=True)
    _, _, errors = holter("symbolize", "-o", named, bare)
    expect("another build" in errors and "program" in errors, errors)
    expect(all(frame["method"]["name"].startswith("0x") for frame in stacks(named)[0]),
           "names of another build were used")


TESTS = [print_text_is_that_of_jfr, print_json_is_that_of_jfr, stack_depth_is_that_of_jfr,
         filters_are_those_of_jfr, metadata_is_that_of_jfr, summary_is_that_of_jfr, compressed_is_as_plain,
         json_tells_what_text_tells, losses_stand_on_top, every_truncation_ends_in_data_or_a_message,
         damage_is_told_with_its_offset, broken_frame_is_told, foreign_files_are_refused_in_one_line,
         wrong_use_has_status_2, unknown_events_are_named, closed_pipe_ends_silently,
         exported_jfr_is_the_same_recording, exported_jfr_has_only_what_was_chosen,
         limit_leaves_nothing_behind, json_export_is_print, csv_has_every_event, csv_quotes_what_must_be,
         collapsed_adds_up, times_choose_events, symbolize_names_frames, symbolize_refuses_another_build]


def main():
    try:
        for function in TESTS:
            test(function)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("%d passed, %d failed, %d skipped" % (counts["ok"], counts["FAIL"], counts["SKIP"]))
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
