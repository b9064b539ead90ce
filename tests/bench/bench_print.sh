#!/usr/bin/env bash
# CPU seconds of `holter print --json` beside `jfr print --json`, on one recording of a JVM, alternating.
#
#   O=build/release tests/bench/bench_print.sh [EVENTS]
#
# Out: one line with both, their ratio and the memory of each, or a line SKIP. Budget: at least 8 x
# fewer CPU seconds, and memory that does not grow with the file.
set -u
export LC_ALL=C
O=${O:-build/release}
events=${1:-40000}
rounds=2
top=$(mktemp -d "${TMPDIR:-/tmp}/holter-bench-print.XXXXXX")
trap 'rm -rf "$top"' EXIT
file=$top/load.jfr

if ! command -v jfr >/dev/null || ! command -v java >/dev/null; then
	echo 'SKIP print --json: there is no JDK to compare with'
	exit 0
fi
java -Xmx512m tests/bench/PrintLoad.java "$file" "$events" >"$top/log" 2>&1 || {
	echo "SKIP print --json: no recording could be made: $(head -n 1 "$top/log")"
	exit 0
}
java -Xmx512m tests/bench/PrintLoad.java "$top/long.jfr" $((events * 5)) >"$top/log" 2>&1

# Runs a command with its output thrown away; adds its CPU time and peak memory to a file.
measure()
{
	local to=$1

	shift
	PYTHONHASHSEED=0 "${PYTHON:-python3}" - "$@" >>"$to" <<'END'
import os, resource, subprocess, sys
with open(os.devnull, "wb") as null:
    status = subprocess.run(sys.argv[1:], stdout=null, check=False).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024)
sys.exit(status)
END
}

for ((i = 0; i < rounds; i++)); do
	measure "$top/ours" "$O/holter" print --json "$file" || exit 1
	measure "$top/theirs" jfr print --json --stack-depth 64 "$file" || exit 1
done
measure "$top/long" "$O/holter" print --json "$top/long.jfr" || exit 1
best() { sort -n "$1" | head -n 1; }
read -r ours ours_mib < <(best "$top/ours")
read -r theirs theirs_mib < <(best "$top/theirs")
read -r _ long_mib < <(best "$top/long")
text=$("$O/holter" print --json "$file" | wc -c)
awk -v a="$ours" -v b="$theirs" -v am="$ours_mib" -v bm="$theirs_mib" -v lm="$long_mib" -v t="$text" -v n="$events" \
	'BEGIN { printf "print --json: %d events, %.0f MB of text: holter %.2f s CPU, %d MiB (%d MiB for 5 x the events); jfr %.2f s, %d MiB: %.0f x (budget 8 x)\n", n, t / 1e6, a, am, lm, b, bm, b / a
		exit !(b >= 8 * a) }'
