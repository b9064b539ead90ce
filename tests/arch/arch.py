#!/usr/bin/python3
"""Checks the structure: who includes whom, what an object may define, what the libraries export.

In: layers.txt, the sources, the objects and libraries in $O. Out: a line per violation, then
`N passed, N failed, N skipped`, one per rule.
"""
import os
import re
import subprocess
import sys

O = os.environ.get("O", "build/release")
CC = os.environ.get("CC", "gcc")
CODE = ("preload", "recorder", "reader", "tools")
ALLOWED_TOP = {"Makefile", "preload", "recorder", "reader", "tools", "tests", "README.md", "LICENSE"}


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            check=False)
    return result.returncode, result.stdout


def tracked():
    """Files of the tree: what git knows and what is new, but nothing that is built."""
    status, out = run("git", "ls-files", "--cached", "--others", "--exclude-standard")
    if status == 0:
        return sorted(path for path in set(out.splitlines()) if os.path.exists(path))
    found = []
    for root, folders, names in os.walk("."):
        folders[:] = [f for f in folders if f not in ("build", ".git")]
        found += [os.path.relpath(os.path.join(root, name), ".") for name in names]
    return sorted(found)


def layers():
    """folder -> (what it may include, {file: further folders}, prefixes)."""
    table = {}
    with open("tests/arch/layers.txt", encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                folder, may, prefixes = (part.strip() for part in line.split("|"))
                exceptions = {}
                for names, extra in re.findall(r"\[([^:\]]*):([^\]]*)\]", may):
                    for name in names.split():
                        exceptions[name] = extra.split()
                may = [word for word in re.sub(r"\[[^\]]*\]", "", may).split() if word != "-"]
                table[folder] = (may, exceptions, prefixes.split())
    return table


def sources(files):
    return [f for f in files if f.startswith(CODE) and f.endswith((".c", ".h", ".def", ".S"))]


def check_includes(files, table):
    bad = []
    for path in sources(files):
        folder, name = os.path.split(path)
        if folder not in table:
            bad.append("%s: the folder is not in layers.txt" % path)
            continue
        may, exceptions, _ = table[folder]
        may = may + exceptions.get(name, []) + [folder]
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                include = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if not include:
                    continue
                target = include[1]
                if "/" not in target and name.startswith("holter"):
                    continue  # public headers name each other bare
                if not os.path.exists(target):
                    bad.append("%s:%d: %s is not a path from the root" % (path, number, target))
                elif target not in may and os.path.dirname(target) not in may:
                    bad.append("%s:%d: %s may not include %s" % (path, number, folder, target))
    return bad


def check_names_once(files):
    seen, bad = {}, []
    for path in files:
        name = os.path.basename(path)
        if name in seen and not name.startswith("."):
            bad.append("%s and %s have the same name" % (seen[name], path))
        seen[name] = path
    return bad


def check_top(files):
    top = {path.split("/")[0] for path in files}
    return ["%s does not belong to the top level" % name for name in sorted(top)
            if name not in ALLOWED_TOP and not name.startswith(".")]


def hook_names():
    """Names that hooks.def interposes: exported name -> symbols of the object."""
    names = {}
    with open("preload/hooks.def", encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    for kind, arguments in re.findall(r"\b(HOOKV|HOOKN|HOOK)\(([^;]*?)\)\s*(?=\n[A-Z#\n]|$)", text + "\n",
                                      flags=re.S):
        words = [word.strip() for word in arguments.split(",")]
        if kind == "HOOKV":
            names.setdefault(words[2], []).append(words[1])
        else:
            names.setdefault(words[1], []).append(words[1])
    return names


def public_names(header):
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
    return set(re.findall(r"\b(holter_[a-z0-9_]+)\s*\(", text))


# What the injected object exports beside hooks.def and holter.h, with the reason.
OTHER_EXPORTS = {
    "__cxa_throw",  # its real function is looked up late: pre_real_throw()
    "vfork",        # assembly that jumps on: a C function cannot wrap it
}


def check_object_names(table):
    bad, hooks = [], hook_names()
    symbols = {s for list_ in hooks.values() for s in list_} | set(hooks) | OTHER_EXPORTS
    for tree in ("shim", "obj"):
        for root, _, names in os.walk(os.path.join(O, tree)):
            folder = os.path.relpath(root, os.path.join(O, tree))
            for name in sorted(names):
                source = os.path.join(folder, name[:-2])
                if not name.endswith(".o") or folder not in table or not (
                        os.path.exists(source + ".c") or os.path.exists(source + ".S")):
                    continue
                prefixes = table[folder][2]
                _, out = run("nm", "--defined-only", "--extern-only", "--format=posix",
                             os.path.join(root, name))
                for line in out.splitlines():
                    symbol = line.split()[0].split("@")[0]
                    if symbol.startswith(tuple(p for p in prefixes if p.endswith("_"))) or \
                            symbol in prefixes or ("hooks" in prefixes and symbol in symbols):
                        continue
                    bad.append("%s defines %s: not one of %s" % (source, symbol, " ".join(prefixes)))
    return sorted(set(bad))


def exported(path):
    _, out = run("nm", "--dynamic", "--defined-only", "--extern-only", "--format=posix", path)
    return {line.split()[0].split("@")[0] for line in out.splitlines()} - {"GLIBC_2.2.5", "GLIBC_2.3.2"}


def check_exports():
    bad, library = [], O + "/libholter.so"
    wanted = set(hook_names()) | OTHER_EXPORTS
    have = exported(library)
    public = public_names("recorder/holter.h") if os.path.exists("recorder/holter.h") else set()
    bad += ["%s does not export %s of hooks.def" % (library, n) for n in sorted(wanted - have)]
    bad += ["%s exports %s, which is neither in hooks.def nor in holter.h" % (library, name)
            for name in sorted(have - wanted - public)]
    _, versions = run("nm", "--dynamic", "--defined-only", "--with-symbol-versions", library)
    for name, symbols in hook_names().items():
        if len(symbols) > 1 and ("%s@GLIBC_2.2.5" % name not in versions or
                                 "%s@@GLIBC_2.3.2" % name not in versions):
            bad.append("%s: %s lacks one of its two versions" % (library, name))
    reader = O + "/libholter_reader.so"
    bad += ["%s exports %s" % (reader, name) for name in sorted(exported(reader))
            if not name.startswith("holter_")]
    if not exported(reader):
        bad.append("%s exports nothing" % reader)
    return bad


def check_linkage():
    bad, library = [], O + "/libholter.so"
    _, dynamic = run("readelf", "-dW", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    # The loader itself is libc's own other half (__tls_get_addr, _dl_find_object).
    bad += ["%s needs %s" % (library, name) for name in needed
            if name not in ("libc.so.6", "ld-linux-x86-64.so.2")]
    if "TEXTREL" in dynamic:
        bad.append("%s has text relocations" % library)
    _, out = run("ldd", "-r", library)
    bad += ["ldd -r: " + line for line in out.splitlines() if "undefined" in line or "not found" in line]
    _, out = run("readelf", "-lW", library)
    if re.search(r"GNU_STACK.*RWE", out):
        bad.append("%s wants an executable stack" % library)
    return bad


def check_headers_alone(files):
    bad = []
    for path in [f for f in sources(files) if f.endswith(".h")]:
        status, out = run(CC, "-std=gnu11", "-D_GNU_SOURCE", "-I.", "-I" + O + "/gen", "-Wall", "-Wextra",
                          "-Werror", "-Wno-unused-function", "-fsyntax-only", "-x", "c", "-include", path,
                          "/dev/null")
        if status != 0:
            bad.append("%s does not compile alone: %s" % (path, out.splitlines()[0]))
    for path in [f for f in files if os.path.basename(f).startswith("holter") and f.endswith(".h")]:
        status, out = run("g++", "-std=c++17", "-I.", "-Irecorder/format", "-Ireader", "-Wall",
                          "-Wno-unused-function", "-fsyntax-only", "-x", "c++", "-include", path, "/dev/null")
        if status != 0:
            bad.append("%s does not compile as C++: %s" % (path, out.splitlines()[0]))
    return bad


def check_paths(files):
    """Nothing may name a folder of the machine it was written on."""
    pattern = r"(^|[[:space:]\"'(=:])/" + "work/"
    _, out = run("grep", "-nIE", pattern, *files)
    return ["names a local folder: " + line[:120] for line in out.splitlines()]


def main():
    files, table = tracked(), layers()
    rules = [
        ("includes follow layers.txt", lambda: check_includes(files, table)),
        ("a file name occurs once", lambda: check_names_once(files)),
        ("top level", lambda: check_top(files)),
        ("prefixes of global names", lambda: check_object_names(table)),
        ("exports", check_exports),
        ("linkage of the injected object", check_linkage),
        ("headers compile alone", lambda: check_headers_alone(files)),
        ("no local paths", lambda: check_paths(files)),
    ]
    failed = 0
    for name, rule in rules:
        bad = rule()
        for line in bad:
            print("FAIL %s: %s" % (name, line))
        failed += 1 if bad else 0
        if not bad:
            print("ok %s" % name)
    print("%d passed, %d failed, 0 skipped" % (len(rules) - failed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
