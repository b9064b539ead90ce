#!/usr/bin/env bash
# Is every file as clang-format would write it? Version 14 is what .clang-format was written for.
set -u
if ! "$CLANG_FORMAT" --version 2>/dev/null | grep -q 'version 14\.'; then
	echo "SKIP clang-format 14 is not installed ($CLANG_FORMAT)"
	echo '0 passed, 0 failed, 1 skipped'
	exit 0
fi
bad=0
for file in "$@"; do
	# The contract of tables is laid out by hand: one row, one line.
	if ! "$CLANG_FORMAT" --dry-run -Werror "$file" >/dev/null 2>&1; then
		echo "FAIL $file: $("$CLANG_FORMAT" "$file" | diff "$file" - | grep -c '^[<>]') lines differ"
		bad=$((bad + 1))
	fi
done
echo "$(($# - bad)) passed, $bad failed, 0 skipped"
[ $bad = 0 ]
