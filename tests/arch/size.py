#!/usr/bin/python3
"""Lengths: functions at most 60 lines, files 800, headers 200, nesting 3.

A function that is one switch (or one table) may be longer: at least two thirds of its lines are inside
one switch statement. Exceptions are listed in size.txt with their reason. Out: `N passed, ...`.
"""
import glob
import re
import sys

FUNCTION_MAX, FILE_MAX, HEADER_MAX, NESTING_MAX = 60, 800, 200, 3
FOLDERS = ("preload", "recorder", "recorder/*", "reader", "reader/*", "tools", "tools/*",
           "tests/unit", "tests/e2e/targets", "tests/fuzz", "tests/bench")


def exceptions():
    """path or path:function -> reason; a line without a reason is a mistake."""
    table = {}
    with open("tests/arch/size.txt", encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                subject, reason = (part.strip() for part in line.split("|"))
                assert reason, subject
                table[subject] = reason
    return table


def functions(lines):
    """(name, first line, lines of the body) of each function: kernel style puts braces in column 0."""
    start, name = None, None
    for number, line in enumerate(lines):
        if start is None and line.startswith("{"):
            back = number - 1
            while back >= 0 and lines[back].strip() and not re.match(r"[A-Za-z_].*\(", lines[back]):
                back -= 1
            head = re.match(r".*?([A-Za-z_][A-Za-z0-9_]*)\s*\(", lines[back]) if back >= 0 else None
            start, name = number, head[1] if head else "?"
        elif start is not None and line.startswith("}"):
            yield name, start, lines[start + 1:number]
            start = None


def is_switch(body):
    longest, begin, indent = 0, None, ""
    for number, line in enumerate(body):
        opening = re.match(r"(\s+)switch\b.*{$", line)
        if begin is None and opening:
            begin, indent = number, opening[1]
        elif begin is not None and line.startswith(indent + "}"):
            longest = max(longest, number - begin)
            begin = None
    return longest * 3 >= len(body) * 2


def nesting(body):
    """Depth of blocks inside the function: each tab beyond the first, of a line that opens one."""
    deepest = 0
    for line in body:
        opening = re.match(r"(\t+)(?:if|for|while|switch|do|} else)\b.*{$", line)
        if opening:
            deepest = max(deepest, len(opening[1]))
    return deepest


def check(path, allowed):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").rstrip("\r") for line in file]
    is_header = path.endswith(".h")
    limit = HEADER_MAX if is_header else FILE_MAX
    if len(lines) > limit and path not in allowed:
        yield "%s: %d lines, at most %d" % (path, len(lines), limit)
    if path.endswith(".def"):
        return
    for name, start, body in functions(lines):
        if "%s:%s" % (path, name) in allowed:
            continue
        if len(body) > FUNCTION_MAX and not is_switch(body):
            yield "%s:%d: %s() has %d lines, at most %d" % (path, start + 1, name, len(body), FUNCTION_MAX)
        if nesting(body) > NESTING_MAX:
            yield "%s:%d: %s() is nested %d deep, at most %d" % (path, start + 1, name, nesting(body),
                                                                NESTING_MAX)


def main():
    allowed, bad, used = exceptions(), [], 0
    paths = sorted({path for folder in FOLDERS for ending in ("c", "h", "def", "cc")
                    for path in glob.glob("%s/*.%s" % (folder, ending))})
    for path in paths:
        found = list(check(path, allowed))
        bad += found
        used += 1
    for subject in allowed:
        if subject.split(":")[0] not in paths:
            bad.append("size.txt: %s does not exist" % subject)
    for line in bad:
        print("FAIL " + line)
    failed = len({line.split(":")[0] for line in bad})
    print("%d passed, %d failed, 0 skipped" % (used - min(failed, used), failed))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
