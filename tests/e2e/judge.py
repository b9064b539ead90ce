#!/usr/bin/python3
"""Compares a recording with the truth that a test program printed.

  judge.py TRUTH JSON...      JSON: output of `jfr print --json` or `holter print --json`; events of
                              several files are added
  judge.py --same A B         compares two readers' views of one file

Lines of TRUTH (others are not looked at):

  expect TYPE count=N [field=value ...] [sum:field=N | min:field>=N | max:field<=N ...]
      so many events of TYPE have the values. count>=N and count<=N are allowed; without count at
      least one. A field is a path: eventThread.osName, monitorClass.name. Operators: = != >= <= ~ (a
      regular expression that must be found). Spans may be written 10ms. thread=NAME is short for
      eventThread.osName=NAME, process=NAME[PID] for eventThread.group.name=NAME[PID] in events
      without a field of that name.
  expect-stack TYPE [count=N] [field=value ...] f1 f2 ... f3
      one event (or N) of TYPE has these functions on its stack, innermost first; `...` lets any
      frames between, else they follow each other directly. A function is a name or ~regex.
  expect-made TYPE made=N [field=value ...]
      events recorded + events reported as lost (jdk.DataLoss) = N
  allow-loss
      without it, any reported loss is a failure

Exit status 0: all hold; 1: some do not, one line each; 2: input cannot be read.
"""
import json
import re
import shlex
import sys

UNITS = {"ns": 1, "us": 1000, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
CONDITION = re.compile(r"^((?:sum:|min:|max:)?[A-Za-z][A-Za-z0-9_.\[\]]*)(!=|>=|<=|=|~)(.*)$", re.S)
SHORT = {"thread": "eventThread.osName", "process": "eventThread.group.name"}


def nanoseconds(text):
    """Nanoseconds of an ISO span (PT1M2.5S) or a number with unit; None where it is neither."""
    iso = re.match(r"^(-?)PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,9}))?S)?$", text)
    if iso:
        part = int(iso[5] or 0) * 10**9 + int((iso[6] or "").ljust(9, "0") or 0)
        part = -part if iso[4] else part
        return part + int(iso[3] or 0) * UNITS["m"] + int(iso[2] or 0) * UNITS["h"]
    plain = re.match(r"^(-?\d+(?:\.\d+)?)(ns|us|ms|s|m|h)$", text)
    return round(float(plain[1]) * UNITS[plain[2]]) if plain else None


def number(value):
    """A value as a number where it can be one, else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value
    if isinstance(value, str):
        for convert in (lambda text: int(text, 0), float):
            try:
                return convert(value)
            except ValueError:
                pass
        return nanoseconds(value)
    return None


def text_of(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def lookup(values, path):
    """The value at a path like stackTrace.frames[0].method.name; None when a step is missing."""
    here = values
    if path in SHORT and isinstance(values.get(path), (dict, type(None))):
        path = SHORT[path]
    for step in re.findall(r"[^.\[\]]+", path):
        if isinstance(here, list):
            here = here[int(step)] if step.isdigit() and int(step) < len(here) else None
        elif isinstance(here, dict):
            here = here.get(step)
        else:
            return None
    return here


def compare(found, operator, wanted):
    if operator == "~":
        return re.search(wanted, text_of(found)) is not None
    left, right = number(found), number(wanted)
    if left is not None and right is not None:
        return {"=": left == right, "!=": left != right, ">=": left >= right,
                "<=": left <= right}[operator]
    if operator in (">=", "<="):
        return False
    return (text_of(found) == wanted) == (operator == "=")


def functions(event):
    """Names of the functions on an event's stack, innermost first."""
    frames = lookup(event["values"], "stackTrace.frames") or []
    return [text_of(lookup(frame, "method.name")) for frame in frames]


def has_chain(names, chain):
    """Do `chain`'s functions occur in `names` one behind the other, `...` standing for any frames?"""
    def same(name, wanted):
        if wanted.startswith("~"):
            return re.search(wanted[1:], name) is not None
        return name == wanted

    def match(at, left):
        if not left:
            return True
        if left[0] == "...":
            return any(match(i, left[1:]) for i in range(at, len(names) + 1))
        return at < len(names) and same(names[at], left[0]) and match(at + 1, left[1:])

    return any(match(start, chain) for start in range(len(names)))


def matching(events, conditions):
    return [e for e in events
            if all(compare(lookup(e["values"], f), op, v) for f, op, v in conditions)]


def split(words):
    """Words of a line -> (count conditions, sums, field conditions, the rest)."""
    counts, sums, fields, rest = [], [], [], []
    for word in words:
        condition = CONDITION.match(word)
        if not condition or word.startswith("~"):
            rest.append(word)
        elif condition[1] in ("count", "made"):
            counts.append((condition[2], int(condition[3])))
        elif ":" in condition[1]:
            kind, field = condition[1].split(":", 1)
            sums.append((kind, field, condition[2], condition[3]))
        else:
            fields.append(condition.groups())
    return counts, sums, fields, rest


def reduce_field(events, kind, field):
    found = [number(lookup(e["values"], field)) for e in events]
    found = [n for n in found if n is not None]
    if kind == "sum":
        return sum(found)
    return (min if kind == "min" else max)(found) if found else None


def nearest(events, fields):
    """A hint for a person: how many events meet each condition by itself, and one event."""
    hints = ["%s%s%s: %d" % (f, op, v, len(matching(events, [(f, op, v)]))) for f, op, v in fields]
    if events:
        values = {k: v for k, v in events[-1]["values"].items() if k not in ("stackTrace",)}
        hints.append("e.g. " + json.dumps(values)[:300])
    return "; ".join(hints)


def judge_line(words, by_type, lost):
    """One line of the truth. Returns a list of complaints."""
    verb, kind, words = words[0], words[1], words[2:]
    events = by_type.get(kind, [])
    counts, sums, fields, rest = split(words)
    found = matching(events, fields)
    if verb == "expect-stack":
        fitting = [e for e in found if has_chain(functions(e), rest)]
        if all(compare(len(fitting), op, n) for op, n in counts) and (counts or fitting):
            return []
        stacks = sorted({" < ".join(functions(e)) for e in found}, key=len)
        return ["%d of %d (%d of the type) have the stack %s; stacks: %s" % (
            len(fitting), len(found), len(events), " ".join(rest), " || ".join(stacks[:6])[:1500])]
    if rest:
        return ["words without meaning: " + " ".join(rest)]
    total = len(found) + (lost if verb == "expect-made" else 0)
    bad = ["found %d, wanted %s%d" % (total, op, n) for op, n in counts if not compare(total, op, n)]
    if not counts and not found:
        bad.append("found none")
    for reducer, field, operator, wanted in sums:
        value = reduce_field(found, reducer, field)
        if not compare(value, operator, wanted):
            bad.append("%s of %s is %s, wanted %s%s" % (reducer, field, value, operator, wanted))
    if bad:
        bad = ["; ".join(bad) + " (%d of the type; %s)" % (len(events), nearest(events, fields))]
    return bad


def load(paths):
    events = []
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            events += json.load(file)["recording"]["events"]
    return events


def judge(truth, paths):
    by_type, bad, judged = {}, [], 0
    for event in load(paths):
        by_type.setdefault(event["type"], []).append(event)
    losses = by_type.get("jdk.DataLoss", [])
    lost = int(reduce_field(losses, "sum", "events"))
    with open(truth, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n") for line in file]
    for line in lines:
        words = shlex.split(line) if line.startswith("expect") else [""]
        if words[0] in ("expect", "expect-stack", "expect-made") and len(words) > 1:
            judged += 1
            bad += ["%s: %s" % (line, text) for text in judge_line(words, by_type, lost)]
        elif words[0].startswith("expect"):
            bad.append(line + ": not understood")
    if lost and "allow-loss" not in lines:
        bad.append("events were lost: " + json.dumps([e["values"] for e in losses])[:500])
    if not judged:
        bad.append("the program told no truth")
    for text in bad:
        print("    " + text)
    return 1 if bad else 0


def plain(value):
    """A value without what two readers may write differently: the form of a span or of a number."""
    if isinstance(value, dict):
        return tuple((key, plain(value[key])) for key in value)
    if isinstance(value, list):
        return tuple(plain(item) for item in value)
    if isinstance(value, str) and value.startswith("PT"):
        return nanoseconds(value)
    if isinstance(value, float):
        return float("%.6g" % value)
    return value


def same(left_path, right_path):
    """Two readers must tell the same events with the same values."""
    def keyed(path):
        found = {}
        for event in load([path]):
            key = (event["type"], plain(event["values"]))
            found[key] = found.get(key, 0) + 1
        return found

    left, right = keyed(left_path), keyed(right_path)
    bad = 0
    for key in list(left) + [key for key in right if key not in left]:
        if left.get(key, 0) != right.get(key, 0):
            bad += 1
            if bad <= 6:
                print("    %d in %s, %d in %s: %s %s" % (left.get(key, 0), left_path, right.get(key, 0),
                                                    right_path, key[0], str(key[1])[:700]))
    if bad:
        print("    %d events differ" % bad)
    return 1 if bad else 0


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "--same":
        return same(arguments[1], arguments[2])
    if len(arguments) < 2 or arguments[0].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    return judge(arguments[0], arguments[1:])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (OSError, ValueError, KeyError) as error:
        print("    judge: %s" % error)
        sys.exit(2)
