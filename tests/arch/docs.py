#!/usr/bin/python3
"""Checks that what people rely on is described.

- every function declared in a header has a comment; in headers that other folders include, and in public
  ones, it says `Return:` and `Context:`;
- every file opens with a comment;
- every event of events.def is expected by a target that cases.txt runs;
- every target has a case; every hook of hooks.def is called by a target, unless docs.txt says why not;
- every command of the table has a manual page, and every page a command;
- every option of a command stands in its page;
- every setting and event stands in its generated page;
- manual pages are free of formatter warnings.
"""
import glob
import os
import re
import subprocess
import sys

O = os.environ.get("O", "build/release")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headers():
    return sorted(path for pattern in ("preload/*.h", "recorder/*.h", "recorder/*/*.h", "reader/*.h",
                                       "reader/analysis/*.h", "tools/*.h") for path in glob.glob(pattern))


def declarations(text):
    """(name, paragraph it stands in, line) of each function that a header declares and does not define.

    A paragraph is what stands between two empty lines outside of comments: one comment may describe a
    group of declarations.
    """
    text = re.sub(r"/\*.*?\*/", lambda comment: comment[0].replace("\n\n", "\n \n"), text, flags=re.S)
    pattern = re.compile(r"^(?!static|typedef|#|extern \"C\"|return|struct [a-z_]+ {|\s)"
                         r"[A-Za-z_][A-Za-z0-9_ \*\n\t]*?[ \*\n]([a-z][a-z0-9_]*)\(([^;{}]*?)\)"
                         r"(?:\s*__attribute__\(\(.*?\)\))*;", re.M | re.S)
    line = 1
    for paragraph in re.split(r"(\n\n+)", text):
        for found in pattern.finditer(paragraph):
            if "__attribute__" not in found[0].split("(")[0]:
                yield found[1], paragraph, line + paragraph.count("\n", 0, found.start())
        line += paragraph.count("\n")


def shared_headers():
    """Headers that a file of another folder includes, and those that are installed."""
    shared = {path for path in headers() if os.path.basename(path).startswith("holter")}
    for pattern in ("preload/*", "recorder/*/*", "reader/*", "reader/analysis/*", "tools/*"):
        for path in glob.glob(pattern):
            if path.endswith((".c", ".h", ".S")):
                shared |= {target for target in re.findall(r'#\s*include "([^"]+)"', read(path))
                           if os.path.dirname(target) != os.path.dirname(path)}
    return shared


def check_functions():
    """What other folders call is described in full, what stays inside one in a comment at least."""
    bad, shared = [], shared_headers()
    for path in headers():
        for name, paragraph, line in declarations(read(path)):
            if name.startswith("__"):
                continue  # declared for libc, which has no header for it
            if path in shared and not ("Return:" in paragraph and "Context:" in paragraph):
                bad.append("%s:%d: %s() lacks Return: or Context:" % (path, line, name))
            elif "/*" not in paragraph:
                bad.append("%s:%d: %s() has no comment" % (path, line, name))
    return bad


def check_openings():
    bad = []
    for pattern in ("preload/*", "recorder/*", "recorder/*/*", "reader/*", "reader/analysis/*", "tools/*",
                    "tests/unit/*", "tests/e2e/targets/*", "tests/fuzz/*", "tests/bench/*"):
        for path in glob.glob(pattern):
            if path.endswith((".c", ".h", ".def", ".cc")) and not read(path).lstrip().startswith("/*"):
                bad.append("%s does not open with a comment" % path)
    return bad


def targets_of_cases():
    names = set()
    for line in read("tests/e2e/cases.txt").splitlines():
        if line.strip() and not line.startswith("#"):
            names.add(line.split("|")[1].split()[0])
    return names


def excused(section):
    """Lines `section name | reason` of docs.txt."""
    table = {}
    for line in read("tests/arch/docs.txt").splitlines():
        found = re.match(r"(\w+) (\S+) *\| *(\S.*)", line)
        if found and not line.startswith("#") and found[1] == section:
            table[found[2]] = found[3]
    return table


def check_events():
    events = re.findall(r'^EVENT\(\w+, \d+, "([\w.]+)"', read("recorder/format/events.def"), re.M)
    truth = "\n".join(read("tests/e2e/targets/" + name) for name in targets_of_cases())
    told = set(re.findall(r"expect(?:-stack|-made)? ((?:jdk|holter|profiler)\.\w+)", truth))
    reasons = excused("event")
    bad = ["no target of a case expects %s" % name for name in events
           if name not in told and name not in reasons]
    return bad + ["docs.txt excuses %s, which is expected or does not exist" % name for name in reasons
                  if name in told or name not in events]


def check_targets():
    have = {os.path.basename(path) for path in glob.glob("tests/e2e/targets/*.c*")}
    used = targets_of_cases()
    scripts = " ".join(read(path) for path in glob.glob("tests/e2e/*.sh"))
    bad = ["targets/%s has no case in cases.txt" % name for name in sorted(have - used)
           if name not in scripts]
    return bad + ["cases.txt names %s, which does not exist" % name for name in sorted(used - have)]


def check_hooks():
    sys.path.insert(0, "tests/arch")
    from arch import hook_names  # pylint: disable=import-outside-toplevel
    code = "\n".join(read(path) for path in glob.glob("tests/e2e/targets/*.c*"))
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    reasons = excused("hook")
    return ["no target calls %s" % name for name in sorted(hook_names())
            if name not in reasons and not re.search(r"\b%s\b" % name, code)]


def commands():
    text = re.sub(r"/\*.*?\*/", "", read("tools/commands.def"), flags=re.S)
    return re.findall(r"^COMMAND\(\s*\"?(\w+)", text, re.M)


def check_pages():
    bad, names, hidden = [], commands(), excused("command")
    if not names:
        bad.append("tools/commands.def has no COMMAND rows")
    for name in names:
        if name not in hidden and not os.path.exists("tools/man/holter-%s.1" % name):
            bad.append("the command %s has no page tools/man/holter-%s.1" % (name, name))
    for path in glob.glob("tools/man/holter-*.1"):
        if os.path.basename(path)[7:-2] not in names:
            bad.append("%s describes no command" % path)
    main_page = read("tools/man/holter.1")
    completion = read("tools/completions/holter")
    for name in names:
        if name not in hidden and not re.search(r"\b%s\b" % name, main_page):
            bad.append("holter.1 does not name the command %s" % name)
        if name not in hidden and not re.search(r"\b%s\b" % name, completion):
            bad.append("the completion does not know the command %s" % name)
    pages = glob.glob("tools/man/*.[1-8]") + glob.glob(O + "/man/*.7")
    for path in pages:
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, check=False)
        bad += ["%s: %s" % (path, line) for line in result.stdout.splitlines()[:3]]
    return bad


def check_options():
    """Every option that --help of a command shows stands in its page, and the completion knows it."""
    bad, hidden = [], excused("command")
    completion = read("tools/completions/holter")
    for name in commands():
        page = "tools/man/holter-%s.1" % name
        if name in hidden or not os.path.exists(page):
            continue
        result = subprocess.run([O + "/holter", "help", name], stdout=subprocess.PIPE, text=True, check=False)
        text = read(page).replace("\\", "")
        options = re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", result.stdout, re.M)
        if not options:
            bad.append("holter help %s shows no options" % name)
        bad += ["holter help %s shows %s, %s does not" % (name, option, page) for option in options
                if option not in text and option != "--help"]
        bad += ["the completion does not know %s of %s" % (option, name) for option in options
                if option not in completion]
    return bad


def check_tables():
    bad = []
    settings = re.findall(r"^SETTING\((\w+),", read("recorder/format/settings.def"), re.M)
    events = re.findall(r'^EVENT\(\w+, \d+, "([\w.]+)"', read("recorder/format/events.def"), re.M)
    for page, names in (("holter-settings.7", settings), ("holter-events.7", events)):
        text = read("%s/man/%s" % (O, page)).replace("\\", "")
        bad += ["%s does not describe %s" % (page, name) for name in names if name not in text]
    return bad


def main():
    rules = [("functions are described", check_functions), ("files open with a comment", check_openings),
             ("events are expected", check_events), ("targets have cases", check_targets),
             ("hooks are called", check_hooks), ("commands have pages", check_pages), ("options stand in their pages", check_options),
             ("settings and events stand in their pages", check_tables)]
    failed = 0
    for name, rule in rules:
        try:
            bad = rule()
        except OSError as error:
            bad = [str(error)]
        for line in bad:
            print("FAIL %s: %s" % (name, line))
        failed += 1 if bad else 0
        if not bad:
            print("ok %s" % name)
    print("%d passed, %d failed, 0 skipped" % (len(rules) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
