#!/usr/bin/env bash
# Outside judges on one dump each of a threaded server: jfr summary, metadata, print, assemble, the JDK's
# RecordingFile and EventStream, the lz4 tool.
#
#   O=build/release tests/e2e/judges.sh
#
# Out: a line per judge, then `N passed, N failed, N skipped`.
set -u
export LC_ALL=C
O=${O:-build/release}
holter=$PWD/$O/holter
top=$(mktemp -d "${TMPDIR:-/tmp}/holter-judges.XXXXXX")
trap 'rm -rf "$top"' EXIT
passed=0 failed=0 skipped=0

verdict()
{
	local name=$1 tool=$2

	shift 2
	if ! command -v "$tool" >/dev/null; then
		skipped=$((skipped + 1))
		echo "SKIP $name: $tool is not installed"
	elif "$@" >"$top/log" 2>&1; then
		passed=$((passed + 1))
		echo "ok $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		head -n 12 "$top/log" | sed 's/^/    /'
	fi
}

plain=$top/dump.jfr framed=
make_dumps()
{
	# The same ring twice: framed by the exit of the program, plain by the command before.
	mkfifo "$top/pipe"
	env LD_PRELOAD="$PWD/$O/libholter.so" \
		HOLTER="dir=$top/out,settings=everything,alloc=all,dumponexit=yes,interval=50ms" \
		"$O/e2e/mini_server" <"$top/pipe" >"$top/truth" &
	exec 9>"$top/pipe"
	while ! grep -q ready "$top/truth"; do sleep 0.05; done
	"$holter" dump $! -o "$plain" || return 1
	exec 9>&-
	wait $! || return 1
	framed=$(compgen -G "$top/out/*.jfr.lz4")
	[ -s "$framed" ]
}

counts_of_holter() { "$holter" summary "$plain" | awk 'NF == 3 && $2 > 0 && $1 ~ /\./ { print $1, $2 }' | sort; }

summary_agrees()
{
	diff <(jfr summary "$plain" | awk 'NF == 3 && $2 > 0 && $1 ~ /\./ { print $1, $2 }' | sort) <(counts_of_holter)
}

print_text() { jfr print "$plain" | grep -q '^jdk.SocketRead {'; }
print_json() { jfr print --json "$plain" | "${PYTHON:-python3}" -c 'import json, sys; json.load(sys.stdin)'; }
print_xml() { jfr print --xml "$plain" | "${PYTHON:-python3}" -c \
	'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.stdin)'; }

# Every type that the file declares is shown with its fields.
metadata_agrees()
{
	jfr metadata "$plain" | grep -E 'extends jdk.jfr.Event' | sort >"$top/a"
	"$holter" metadata "$plain" | grep -E 'extends jdk.jfr.Event' | sort >"$top/b"
	[ "$(wc -l <"$top/a")" -ge 50 ] && diff "$top/a" "$top/b"
}

assembles()
{
	mkdir "$top/chunks" && cp "$plain" "$top/chunks/1.jfr" && jfr assemble "$top/chunks" "$top/whole.jfr" &&
		cmp "$plain" "$top/whole.jfr"
}

java_reads()
{
	java -XX:TieredStopAtLevel=1 tests/e2e/java/CountEvents.java "$plain" >"$top/counts" &&
		diff <(sort "$top/counts") <(counts_of_holter | grep -vE '^jdk.(Metadata|CheckPoint) ')
}

frame_is_good()
{
	[ "$(head -c 4 "$framed" | od -An -tx1 | tr -d ' ')" = 04224d18 ] || return 1
	# Bit 5 of the flags: blocks do not refer to each other; bit 2: content checksum.
	local flags=$((16#$(od -An -tx1 -j 4 -N 1 "$framed" | tr -d ' ')))
	[ $((flags & 32)) != 0 ] && [ $((flags & 4)) != 0 ] || return 1
	lz4 -tq "$framed" && lz4 -dqf "$framed" "$top/unframed.jfr" && jfr summary "$top/unframed.jfr" >"$top/a" &&
		"$holter" summary "$framed" >"$top/b" && "$holter" export --format jfr -o "$top/exported.jfr" "$framed" &&
		"$holter" print --json "$framed" >"$top/a.json" && "$holter" print --json "$top/exported.jfr" >"$top/b.json" &&
		"${PYTHON:-python3}" tests/e2e/judge.py --same "$top/a.json" "$top/b.json" && jfr summary "$top/exported.jfr"
}

verdict 'dumps are made' bash make_dumps
if [ $failed = 0 ]; then
	verdict 'jfr summary' jfr summary_agrees
	verdict 'jfr metadata' jfr metadata_agrees
	verdict 'jfr print' jfr print_text
	verdict 'jfr print --json' jfr print_json
	verdict 'jfr print --xml' jfr print_xml
	verdict 'jfr assemble' jfr assembles
	verdict 'RecordingFile and EventStream' java java_reads
	verdict 'lz4' lz4 frame_is_good
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
