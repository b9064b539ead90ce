#!/usr/bin/env bash
# clang-tidy (.clang-tidy says which checks, and why), cppcheck, shellcheck.
set -u
passed=0 failed=0 skipped=0
count()
{
	if [ -z "$2" ]; then
		passed=$((passed + 1))
		echo "ok $1"
	else
		failed=$((failed + 1))
		# shellcheck disable=SC2001 # many lines
		sed "s/^/FAIL $1: /" <<<"$2" | head -n 60
	fi
}
skip()
{
	skipped=$((skipped + 1))
	echo "SKIP $1 is not installed"
}

# The analyzer walks paths for minutes: in `make check-long` only.
CHECKS='-clang-analyzer-*'
[ -z "${HOLTER_LONG:-}" ] || CHECKS=
export CHECKS
if command -v "$CLANG_TIDY" >/dev/null; then
	# shellcheck disable=SC2016 # for the inner shell
	count clang-tidy "$(printf '%s\0' "$@" | xargs -0 -n 4 -P "$JOBS" sh -c \
		'"$0" --quiet --checks="$CHECKS" "$@" -- $FLAGS -DHOLTER_VERSION=\"0\" 2>/dev/null' "$CLANG_TIDY" | grep -E 'warning:|error:' |
		sed "s|$PWD/||" | sort -u)"
else
	skip clang-tidy
fi
if command -v cppcheck >/dev/null; then
	# The macros of the tables are beyond it; what it can say about them is noise.
	count cppcheck "$(cppcheck --quiet -j "$JOBS" --std=c11 --language=c -I. --enable=warning,portability \
		--inline-suppr --suppressions-list=tests/arch/cppcheck.txt --template='{file}:{line}: {id}: {message}' \
		-D__x86_64__=1 -D__GNUC__=12 -D__linux__=1 '-DHOLTER_VERSION="0"' "$@" 2>&1)"
else
	skip cppcheck
fi
if command -v shellcheck >/dev/null; then
	count shellcheck "$(shellcheck -f gcc .ci/run .ci/deps tests/*.sh tests/*/*.sh 2>&1)"
else
	skip shellcheck
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
