#!/usr/bin/env bash
# Runs the tests that are scripts, and adds up what they report.
#
#   O=build/release PYTHON=python3 tests/e2e/scripts.sh
#
# In: the scripts below; the last line of each is `N passed, N failed, N skipped`. A script that ends
# otherwise is one failure.
set -u
export LC_ALL=C O=${O:-build/release} PYTHON=${PYTHON:-/usr/bin/python3}
passed=0 failed=0 skipped=0

run_script()
{
	local out status p f s

	out=$(timeout 600 "$@" 2>&1)
	status=$?
	echo "$out"
	if [[ $(tail -n 1 <<<"$out") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
		p=${BASH_REMATCH[1]} f=${BASH_REMATCH[2]} s=${BASH_REMATCH[3]}
		[ $status = 0 ] || [ "$f" != 0 ] || f=1
	else
		p=0 f=1 s=0
		echo "FAIL $* ended without a summary, exit status $status"
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
}

run_script "$PYTHON" tests/e2e/judge_test.py
for script in tests/e2e/*.sh; do
	case $(basename "$script") in
	run.sh | scripts.sh | servers.sh | install.sh | demo.sh | *_lib.sh) ;; # steps of their own
	*) run_script bash "$script" ;;
	esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
