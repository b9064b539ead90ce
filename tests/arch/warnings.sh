#!/usr/bin/env bash
# Compiles every file with clang and the warnings that gcc gets; -Werror is among FLAGS.
set -u
if ! command -v "$CLANG" >/dev/null; then
	echo 'SKIP clang is not installed'
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi
check_one()
{
	local out

	# shellcheck disable=SC2086 # flags are words
	out=$($CLANG $FLAGS '-DHOLTER_VERSION="0"' -O2 -fsyntax-only "$1" 2>&1) || echo "FAIL $1: $(head -n 3 <<<"$out")"
}
export -f check_one
export CLANG FLAGS
# shellcheck disable=SC2016 # for the inner shell
out=$(printf '%s\0' "$@" | xargs -0 -n 1 -P "$JOBS" bash -c 'check_one "$1"' _)
[ -z "$out" ] || echo "$out"
bad=$(grep -c '^FAIL' <<<"$out")
echo "$(($# - bad)) passed, $bad failed, 0 skipped"
[ "$bad" = 0 ]
