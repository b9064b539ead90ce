#!/usr/bin/env bash
# Runs each fuzzer for a bounded time, two at once.
#
#   FUZZ_SECONDS=20 JOBS=2 tests/fuzz/fuzz_run.sh PROGRAM...
#
# Seeds: tests/fuzz/seeds/<fuzzer>, tests/golden for readers. What is found stays in build/fuzz. Out:
# the finding, then `N passed, N failed, N skipped`.
set -u
work=build/fuzz
# The short run says the same every time; long ones look for what is new.
seed=1
[ -z "${HOLTER_LONG:-}" ] || seed=0
mkdir -p "$work"

run_one()
{
	local program=$1 name corpus seeds=()

	name=$(basename "$program")
	corpus=$work/$name.corpus
	mkdir -p "$corpus"
	for folder in "tests/fuzz/seeds/$name" tests/golden; do
		[ -d "$folder" ] && [ -n "$(ls -A "$folder")" ] && seeds+=("$folder")
	done
	"$program" -seed="$seed" -max_total_time="$FUZZ_SECONDS" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
		-artifact_prefix="$work/$name." "$corpus" "${seeds[@]}" >"$work/$name.log" 2>&1
	echo $? >"$work/$name.status"
}

[ $# != 0 ] || {
	echo 'FAIL there are no fuzzers'
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
}
running=0
for program in "$@"; do
	run_one "$program" &
	running=$((running + 1))
	if [ $running -ge "$JOBS" ]; then
		wait -n
		running=$((running - 1))
	fi
done
wait
passed=0 failed=0
for program in "$@"; do
	name=$(basename "$program")
	runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$name.log")
	if [ "$(cat "$work/$name.status")" = 0 ] && [ "${runs:-0}" -gt 0 ]; then
		passed=$((passed + 1))
		echo "$name: $runs inputs"
	else
		failed=$((failed + 1))
		echo "FAIL $name, see $work/$name.log"
		tail -n 30 "$work/$name.log"
	fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed = 0 ]
