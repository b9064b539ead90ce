#!/usr/bin/python3
"""The table of budgets out of single measured values.

    bench_table.py [--readme FILE] RESULTS

In: lines `CASE VARIANT VALUE` of bench.sh, the n-th of a case and variant belonging to round n; `skip WHAT why`;
`fact NAME text`. Out: the table, to standard output; with --readme as a Markdown block between the markers
`<!-- bench:begin -->` and `<!-- bench:end -->` of FILE.

A figure is the median over the rounds, behind it the least and greatest. Differences and ratios are taken
within each round. The noise of a row is the distance that its A/A control keeps in four of five rounds; a budget
is `met`, `within noise` when it is broken by less than that, or `missed`.
"""
import collections
import re
import statistics
import sys

COLUMNS = ("case", "bare", "A/A", "no-op shim", "Holter off", "Holter on", "references", "budget", "verdict")


class Values:
    """All rounds of all variants, and arithmetic within rounds."""

    def __init__(self, lines):
        self.rounds = collections.defaultdict(list)
        self.skips, self.facts = [], {}
        for line in lines:
            words = line.strip().split(None, 2)
            if len(words) != 3:
                continue
            if words[0] == "skip":
                self.skips.append(f"{words[1]}: {words[2]}")
            elif words[0] == "fact":
                self.facts[words[1]] = words[2]
            else:
                self.rounds[words[0], words[1]].append(float(words[2]))

    def get(self, case, variant):
        return self.rounds.get((case, variant), [])

    def diff(self, case, variant, base="bare"):
        return [a - b for a, b in zip(self.get(case, variant), self.get(case, base))]

    def ratio(self, case, variant, base="bare"):
        return [a / b for a, b in zip(self.get(case, variant), self.get(case, base)) if b]


def figure(values, sign="", digits=1, unit=""):
    """Median (least to greatest)."""
    if not values:
        return "-"
    form = f"{{:{sign}.{digits}f}}"
    text = form.format(statistics.median(values)) + unit
    if len(values) > 1:
        text += f" ({form.format(min(values))} to {form.format(max(values))})"
    return text


def verdict(values, budget, noise, digits=1, at_least=False):
    if not values:
        return "not measured"
    over = statistics.median(values) - budget
    over = -over if at_least else over
    if over <= 0:
        return "met"
    return "within noise" if over <= noise else f"missed by {over:.{digits}f}"


def noise_of(control):
    """The distance from bare that four of five A/A rounds stay within: a hiccup of the machine is left out."""
    distances = sorted(abs(value) for value in control)
    return distances[(len(distances) - 1) * 4 // 5] if distances else 0


class Table:
    def __init__(self, values):
        self.values, self.rows = values, []

    def add(self, case, cells, references, budget, outcome):
        cells = (list(cells) + ["-"] * 5)[:5]
        self.rows.append([case, *cells, "; ".join(r for r in references if r) or "-", budget, outcome])

    def reference(self, name, values, sign="+", digits=1, unit=""):
        return f"{name} {figure(values, sign, digits, unit)}" if values else ""

    def common(self, case, on, digits=1):
        """Bare, and what A/A, no-op, off and on add."""
        v = self.values
        cells = [figure(v.get(case, "bare"), digits=digits)]
        for variant in ("bare-again", "no-op", "off", on):
            cells.append(figure(v.diff(case, variant), "+", digits) if variant else "-")
        return cells

    def call_off(self, label, case, references):
        """Recording off: what Holter adds to the no-op shim."""
        v = self.values
        added = v.diff(case, "off", "no-op")
        self.add(label, self.common(case, None), references,
                 "no-op shim + 1.5", verdict(added, 1.5, noise_of(v.diff(case, "bare-again"))) +
                 f": {figure(added, '+')}")

    def call_on(self, label, case, variant, references, budget, beats=None):
        """Recording on; `beats`: peer, factor, our and the peer's added time under preload."""
        v = self.values
        added = v.diff(case, variant)
        text, outcome = f"+ {budget}", verdict(added, budget, noise_of(v.diff(case, "bare-again")))
        if beats:
            peer, factor, ours, theirs = beats
            text += f", {factor} x cheaper than {peer}"
            times = [b / a for a, b in zip(ours, theirs) if a > 0]
            outcome += f"; {peer} / Holter {figure(times, unit=' x')} " + verdict(times, factor, 0, at_least=True)
        self.add(label, self.common(case, variant), references, text, outcome)


def rows_of_memory(table):
    v, ref = table.values, table.reference
    peer = "peer-malloc-batch"
    lttng, heaptrack = v.diff(peer, "lttng"), v.diff(peer, "heaptrack")
    idle = [ref("LTTng idle", v.diff("peer-malloc-pair", "lttng-idle"))]
    table.call_off("off: malloc+free, ns a pair", "malloc-pair", idle)
    table.call_on("malloc+free, sampled, live tracking, ns a pair", "malloc-batch", "sampled", [
        ref("jemalloc prof", v.diff(peer, "jemalloc-prof", "jemalloc")),
        ref("tcmalloc sampling", v.diff(peer, "tcmalloc-sampling", "tcmalloc"))], 5)
    table.call_on("the same, freed at once", "malloc-pair", "sampled", [], 5)
    table.call_on("malloc+free, every call, no stack", "malloc-batch", "all", [ref("LTTng snapshot", lttng)], 25,
                  ("LTTng", 6, v.diff(peer, "all"), lttng))
    table.call_on("malloc+free, every call, 24 frames", "malloc-batch", "all-stack", [ref("heaptrack", heaptrack)],
                  170, ("heaptrack", 2, v.diff(peer, "all-stack"), heaptrack))


def rows_of_calls(table):
    v, ref = table.values, table.reference
    table.call_off("off: lock+unlock, ns a pair", "mutex", [ref("LTTng idle", v.diff("peer-mutex", "lttng-idle"))])
    table.call_on("lock+unlock, uncontended, ns a pair", "mutex", "try",
                  [ref("LTTng snapshot", v.diff("peer-mutex", "lttng"))], 2.5)
    table.call_off("off: send or recv, ns a call", "socket", [])
    clocks = [ref("two rdtsc", v.diff("append", "two-rdtsc"), "")]
    table.call_on("send or recv recorded, no stack, ns a call", "socket", "recorded", clocks, 40)
    table.call_off("off: read of /dev/null", "null", [])
    table.call_on("read of /dev/null recorded, no stack", "null", "recorded", clocks, 40)


def rows_of_stacks(table):
    v, ref = table.values, table.reference
    for way, label, budget in (("same", "the same again", 70), ("leaf", "another leaf", 70),
                               ("different", "all different", 110)):
        taken = v.get("stack", f"capture-{way}")
        table.add(f"stack of 22 frames, {label}, ns", ["-", "-", "-", "-", figure(taken)],
                  [ref(name, v.get("stack", f"{key}-{way}"), "") for name, key in
                   (("walk alone", "walk"), ("unw_backtrace", "unw_backtrace"), ("glibc backtrace", "backtrace"))],
                  str(budget), verdict(taken, budget, 0))
    taken = v.diff("append", "record")
    table.add("one record, no clock, no stack, ns", [figure(v.get("append", "bare"), digits=2), "-", "-", "-",
                                                    figure(taken, digits=2)],
              [ref("32 bytes stored", v.diff("append", "store32"), "", 2)], "3", verdict(taken, 3, 0))


def rows_of_files(table):
    v, ref = table.values, table.reference
    lttng = ref("LTTng", v.get("bytes", "lttng"), "")
    for variant, label, budget in (("ring", "ring", 24), ("lz4", "file", 8)):
        taken = v.get("bytes", variant)
        plain = ref("uncompressed", v.get("bytes", "plain"), "") if variant == "lz4" else ""
        table.add(f"bytes an event, redis traffic, {label}", ["-", "-", "-", "-", figure(taken)], [lttng, plain],
                  str(budget), verdict(taken, budget, 0.5 if variant == "ring" else 0))
    table.add("start-up of /bin/true, us", table.common("startup", "default", 0),
              [ref(name, v.diff("startup", key), "+", 0) for name, key in
               (("LTTng", "lttng"), ("heaptrack", "heaptrack"))], "+ 600",
              verdict(v.diff("startup", "default"), 600, noise_of(v.diff("startup", "bare-again")), 0))
    taken = v.get("dump", "lz4")
    table.add("dump of a full 16 MiB ring, ms of one core", ["-", "-", "-", "-", figure(taken)],
              [ref("plain", v.get("dump", "plain"), ""), ref("perf --overwrite", v.get("dump", "perf"), "", 0),
               ref("LTTng snapshot", v.get("dump", "lttng"), "", 0)], "100", verdict(taken, 100, 0))


def rows_of_servers(table):
    v, ref = table.values, table.reference
    for case in ("redis-P1", "redis-P16", "memcached", "nginx", "pgbench-S"):
        name = f"server:{case}"
        bare, control = v.get(name, "bare"), v.ratio(name, "bare-again")
        noise = noise_of([value - 1 for value in control])
        off, on = v.ratio(name, "off"), v.ratio(name, "default")
        table.add(f"CPU per request, {case}, us and ratios",
                  [figure(bare, digits=2), figure(control, digits=3), figure(v.ratio(name, "no-op"), digits=3),
                   figure(off, digits=3), figure(on, digits=3)],
                  [ref("Holter profile", v.ratio(name, "profile"), "", 3), ref("LTTng", v.ratio(name, "lttng"), "", 2),
                   ref("heaptrack", v.ratio(name, "heaptrack"), "", 2)], "off in the A/A band; on 1.01",
                  f"off {verdict(off, 1, noise, 3)}; on {verdict(on, 1.01, noise, 3)}")
    rows_of_instructions(table)


def rows_of_instructions(table):
    v = table.values
    bare, own = v.get("instructions", "bare"), v.get("instructions-own", "default")
    share = [100 * a / b for a, b in zip(own, bare)]
    table.add("user instructions per request, redis -P1 GET, in the shim (single steps)",
              [figure(bare, digits=0), "-"] + [figure(v.get("instructions-own", variant), "+", 0)
                                               for variant in ("no-op", "off", "default")],
              [table.reference("Holter profile", v.get("instructions-own", "profile"), "+", 0)],
              "1 % of the request's", verdict(share, 1, 0) + (f" ({share[0]:.1f} %)" if share else ""))


def rows_of_reader(table):
    v, ref = table.values, table.reference
    times = v.ratio("reader", "jdk", "holter")
    count = figure(v.get("reader", "events"), digits=0)
    table.add(f"reading {count} events of 11 frames, ms", ["-", "-", "-", "-", figure(v.get("reader", "holter"))],
              [ref("RecordingFile, warm", v.get("reader", "jdk"), "")], "15 x faster",
              f"{verdict(times, 15, 0, at_least=True)} ({figure(times)} x)")
    times = v.ratio("print", "jdk", "holter")
    table.add("print --json of them, ms of CPU", ["-", "-", "-", "-", figure(v.get("print", "holter"))],
              [ref("jfr print --json", v.get("print", "jdk"), "", 0)], "8 x cheaper",
              f"{verdict(times, 8, 0, at_least=True)} ({figure(times)} x)")
    small, large = v.get("reader-memory", "small"), v.get("reader-memory", "large")
    grown = [100 * (b / a - 1) for a, b in zip(small, large)]
    table.add("memory of print --json, KiB, a file ten times as large", [figure(small, digits=0), "-", "-", "-",
                                                                       figure(large, digits=0)],
              [], "the same", verdict(grown, 10, 0) + (f" ({grown[0]:+.1f} %)" if grown else ""))


def as_text(rows):
    """One block a row: terminals are narrower than the table."""
    out = []
    for row in rows:
        out.append(f"{row[0]}  [budget {row[7]}]")
        cells = [f"{name} {cell}" for name, cell in zip(COLUMNS[1:6], row[1:6]) if cell != "-"]
        out.append("    " + " | ".join(cells))
        if row[6] != "-":
            out.append("    references: " + row[6])
        out.append("    -> " + row[8])
    return "\n".join(out)


def as_markdown(rows, values):
    facts = values.facts
    out = [f"Measured {facts.get('date')} at {facts.get('commit')} by `make bench` ({facts.get('mode')}) on "
           f"{facts.get('machine')}, Linux {facts.get('kernel')}, {facts.get('glibc')}; load of the machine before and "
           f"after {facts.get('load-before')}, {facts.get('load-after')}. Median (least to greatest) over the rounds; "
           "A/A, no-op, off and on are differences to bare (`+`) or ratios, taken within each round; A/A is the same "
           "bare program once more, which is the noise.", "",
           "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    out += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    if values.skips:
        out += ["", "Left out: " + "; ".join(values.skips) + "."]
    return "\n".join(out)


def put(readme, block):
    text = open(readme, encoding="utf-8").read()
    parts = re.split(r"(<!-- bench:begin -->\n|<!-- bench:end -->)", text)
    if len(parts) != 5:
        raise SystemExit(f"{readme}: lacks the markers <!-- bench:begin --> and <!-- bench:end -->")
    parts[2] = block + "\n"
    with open(readme, "w", encoding="utf-8") as out:
        out.write("".join(parts))


def main():
    arguments = sys.argv[1:]
    readme = arguments.pop(1) if arguments and arguments[0] == "--readme" else None
    with open(arguments[-1], encoding="utf-8") as file:
        values = Values(file)
    table = Table(values)
    for rows in (rows_of_memory, rows_of_calls, rows_of_stacks, rows_of_files, rows_of_servers, rows_of_reader):
        rows(table)
    if readme:
        put(readme, as_markdown(table.rows, values))
        return
    print(as_text(table.rows))
    for skipped in values.skips:
        print("left out: " + skipped)
    print("; ".join(f"{name} {text}" for name, text in values.facts.items()))


if __name__ == "__main__":
    sys.exit(main())
