#!/usr/bin/env bash
# Runs unit tests, programs of libcheck, JOBS at once, and adds up their checks.
#
#   JOBS=2 tests/unit/unit_run.sh PROGRAM...
#
# In: programs whose output has lines `100%: Checks: N, Failures: N, Errors: N`, one per suite; a test
# may print `SKIP name: reason` lines. Out: failures, then `N passed, N failed, N skipped`.
set -u
results=$(mktemp -d "${TMPDIR:-/tmp}/holter-unit.XXXXXX")
trap 'rm -rf "$results"' EXIT

# Prints what there is to say; leaves "passed failed skipped" in a file of its own.
run_one()
{
	local program=$1 out status checks bad skips

	out=$(timeout "${UNIT_TIMEOUT:-180}" "$program" 2>&1)
	status=$?
	read -r checks bad < <(sed -nE \
		's/^[0-9]+%: Checks: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+)$/\1 \2 \3/p' <<<"$out" |
		awk '{ c += $1; b += $2 + $3 } END { print c + 0, b + 0 }')
	skips=$(grep -c '^SKIP ' <<<"$out")
	if [ "$checks" = 0 ] && [ "$skips" = 0 ] || { [ $status != 0 ] && [ "$bad" = 0 ]; }; then
		bad=$((bad + 1)) checks=$((checks + 1))
		echo "FAIL $program: exit status $status, $((checks - 1)) checks reported"
		tail -n 40 <<<"$out"
	elif [ "$bad" != 0 ]; then
		echo "FAIL $program: $bad of $checks"
		grep -E ':[FE]:|ERROR:|runtime error|WARNING: Thread' -A 12 <<<"$out" | head -n 80
	fi
	grep '^SKIP ' <<<"$out"
	printf '%-36s %d checks, %d bad, %d skipped\n' "$(basename "$program")" "$checks" "$bad" "$skips"
	echo $((checks - bad)) "$bad" "$skips" >"$results/$(basename "$program").sum"
}

[ $# != 0 ] || {
	echo 'FAIL there are no unit tests'
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
}
running=0
for program in "$@"; do
	run_one "$program" >"$results/$(basename "$program").out" &
	running=$((running + 1))
	if [ $running -ge "${JOBS:-2}" ]; then
		wait -n
		running=$((running - 1))
	fi
done
wait
cat "$results"/*.out
# A test whose sum is missing did not run: counted as failed.
cat "$results"/*.sum | awk -v programs=$# '{ p += $1; f += $2; s += $3 } END {
	f += programs - NR
	printf "%d passed, %d failed, %d skipped\n", p, f, s
	exit f != 0 }'
