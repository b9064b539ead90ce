#!/usr/bin/env bash
# Runs unit tests, programs of libcheck, and adds up their checks.
#
#   tests/unit/unit_run.sh PROGRAM...
#
# In: programs whose output has lines `100%: Checks: N, Failures: N, Errors: N`, one per suite; a test
# may print `SKIP name: reason` lines. Out: failures, then `N passed, N failed, N skipped`.
set -u
passed=0 failed=0 skipped=0

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
	passed=$((passed + checks - bad)) failed=$((failed + bad)) skipped=$((skipped + skips))
}

[ $# != 0 ] || {
	echo 'FAIL there are no unit tests'
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
}
for program in "$@"; do
	run_one "$program"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
