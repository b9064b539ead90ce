#!/usr/bin/env bash
# Runs the steps of `make check` and adds up what they report.
#
#   tests/check.sh STEP...        a step is the make target check-STEP (lint: lint, build: all)
#
# In: each step's last line `N passed, N failed, N skipped`. A step that fails without such a line, or
# with one that names no failure, counts as one failure: nothing fails silently. Out: a line per step,
# the failures in full, and the sum as the last line. Logs are in build/check.
set -u
logs=build/check
mkdir -p "$logs"
passed=0 failed=0 skipped=0
begin=$SECONDS

target_of()
{
	case $1 in
	build) echo all ;;
	lint) echo lint ;;
	*) echo "check-$1" ;;
	esac
}

run_step()
{
	local step=$1 log=$logs/$1.log start=$SECONDS status p f s

	$MAKE --no-print-directory -j"$JOBS" "$(target_of "$step")" >"$log" 2>&1
	status=$?
	if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
		[ $status = 0 ] || [ "$f" != 0 ] || f=1
	elif [ "$step" = build ] && [ $status = 0 ]; then
		p=1 f=0 s=0
	else
		# Make adds its own line behind a summary when a recipe failed.
		p=0 f=1 s=0
		if [[ $(grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -n 1) =~ \
			^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+) ]]; then
			p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
			[ "$f" != 0 ] || f=1
		fi
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	printf '%-10s %4d passed, %d failed, %d skipped (%d s)\n' "$step" "$p" "$f" "$s" \
		$((SECONDS - start))
	if [ "$f" != 0 ]; then
		grep -nE '^(FAIL|not ok|error)|error:|: \*\*\*|:[FE]:' "$log" | head -n 40 | sed 's/^/    /'
		echo "    full log: $log"
	fi
	[ "$s" = 0 ] || grep -E '^SKIP' "$log" | head -n 20 | sed 's/^/    /'
	[ "$step" != build ] || [ "$f" = 0 ] || return 1
}

for step in "$@"; do
	run_step "$step" || break # what cannot be built cannot be tested
done
echo "total time $((SECONDS - begin)) s"
echo "$passed passed, $failed failed, $skipped skipped" | tee "$logs/summary"
[ "$failed" = 0 ]
