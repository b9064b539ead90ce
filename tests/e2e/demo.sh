#!/usr/bin/env bash
# make demo: an unmodified redis-server under load, recorded; dumped once by SIGUSR2, once after kill -9.
#
#   O=build/release PYTHON=python3 tests/e2e/demo.sh
#
# Where redis cannot be installed a small server of the tests takes its place. Out: what happened, and where
# the files are. Under a minute.
set -u
export LC_ALL=C
O=${O:-build/release}
PYTHON=${PYTHON:-/usr/bin/python3}
holter=$O/holter
out=$(mktemp -d "${TMPDIR:-/tmp}/holter-demo.XXXXXX")
settings=(-o settings=profile -o memory=16M -o interval=500ms -o SocketRead#threshold=50us
	-o SocketWrite#threshold=50us -o SocketRead#stackTrace=true)
pid=

bold='' plain=''
[ ! -t 1 ] || bold=$'\033[1m' plain=$'\033[0m'
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
fail()
{
	echo "demo: $*" >&2
	[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null
	exit 1
}
wait_for()
{
	local i

	for ((i = 0; i < 200; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}
dumps() { find "$out" -maxdepth 1 -name 'holter-*.jfr*' | wc -l; }
has_dumps() { [ "$(dumps)" -ge "$1" ]; }

port=$("$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
if command -v redis-server >/dev/null && command -v redis-benchmark >/dev/null; then
	server=(redis-server --port "$port" --bind 127.0.0.1 --save '' --appendonly yes --appendfsync always --dir "$out")
	load() { redis-benchmark -p "$port" -c 20 -n "$1" -t set,get,lpush,lrange_300 -q >/dev/null; }
	is_up() { redis-cli -p "$port" ping; }
else
	echo 'redis is not installed and could not be: a small server of the tests takes its place'
	make --no-print-directory -s "BUILD=$(basename "$O")" e2e-programs || fail 'the small server was not built'
	server=("$O/e2e/mini_server" serve "$port")
	load() { "$O/e2e/mini_server" load "$port" "$(($1 / 4))"; }
	is_up() { "$O/e2e/mini_server" load "$port" 8; }
fi

say "1. start: holter run -- ${server[0]##*/} (it keeps its own PID and knows nothing of it)"
"$holter" run --dir "$out" "${settings[@]}" -- "${server[@]}" >"$out/server.log" 2>&1 &
pid=$!
wait_for is_up || fail "the server did not come up: $(tail -n 3 "$out/server.log")"
"$holter" ps

say '2. load, then kill -USR2: the last seconds are written, the server runs on'
load 8000 || fail 'the load failed'
kill -USR2 $pid
wait_for has_dumps 1 || fail "no dump after SIGUSR2: $(tail -n 3 "$out/server.log")"
first=$(find "$out" -name 'holter-*.jfr*')

say '3. more load, then kill -9 in the middle of it: the ring outlives the program'
load 8000 2>/dev/null &
load_pid=$!
sleep 1
kill -KILL $pid
wait $pid 2>/dev/null
if ! wait_for has_dumps 2; then
	echo 'the leader wrote nothing by itself; asking: holter recover'
	"$holter" recover $pid || fail 'holter recover failed'
fi
pkill -P $load_pid 2>/dev/null
kill $load_pid 2>/dev/null
wait $load_pid 2>/dev/null
second=$(find "$out" -name 'holter-*.jfr*' ! -path "$first")
[ -s "$second" ] || fail 'no second file'

say "4. what is in the first file: holter summary ${first##*/}"
"$holter" summary "$first" | awk 'NR <= 8 || ($2 > 0 && $1 ~ /\./)' || fail 'holter summary failed'

say '5. what happened'
"$holter" print --json --stack-depth 12 --events \
	'JavaMonitorEnter,JavaMonitorWait,ThreadPark,ThreadSleep,FileForce,FileWrite,SocketRead,SocketWrite,Malloc,DumpReason,DataLoss' \
	"$first" | "$PYTHON" tests/e2e/demo_view.py || fail 'the first file could not be read'

say '6. the end of it, from the file written after kill -9'
"$holter" print --events FatalSignal,DumpReason,Shutdown "$second" || fail 'the second file could not be read'
"$holter" print --json --stack-depth 12 --events 'FileForce,FileWrite,SocketRead,SocketWrite,Malloc,DataLoss' \
	"$second" | "$PYTHON" tests/e2e/demo_view.py || fail 'the second file could not be read'

say 'files'
stat -c '%s bytes  %n' "$first" "$second"
echo 'read them with'
echo "  $holter print --events SocketRead $first"
echo "  lz4 -d $first x.jfr && jfr print --events jdk.FileForce x.jfr      (or open it in JDK Mission Control)"
