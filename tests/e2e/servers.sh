#!/usr/bin/env bash
# Real programs with their own clients, bare and recorded: same output, same exit status, and the dump has
# the events that must be there, with stacks and function names.
#
#   O=build/release PYTHON=python3 tests/e2e/servers.sh [GLOB]
#
# A case is skipped, and counted, only where its program is not installed. Out: `N passed, ...`; files of a
# case stay in $O/e2e/servers/NAME.
set -u
export LC_ALL=C
glob=${1:-*}
O=${O:-build/release}
PYTHON=${PYTHON:-/usr/bin/python3}
root=$PWD
work=$root/$O/e2e/servers
shim=$root/$O/libholter.so
holter=$root/$O/holter
passed=0 failed=0 skipped=0

# --- what the cases use ----------------------------------------------------------------------------

complain() { echo "    $*" >>"$dir/verdict"; }

wait_for()
{
	local i

	for ((i = 0; i < 600; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	complain "timed out: $*"
	return 1
}

free_port()
{
	"$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Runs a command as the current mode says; $settings are the case's, $as what changes the user first.
launch()
{
	if [ "$mode" = recorded ]; then
		"${as[@]}" env LD_PRELOAD="$shim" HOLTER="dir=$dir/out,$settings" "$@"
	else
		"${as[@]}" "$@"
	fi
}

# The same as the last act of a background job: the job's pid is the program's.
become()
{
	if [ "$mode" = recorded ]; then
		exec "${as[@]}" env LD_PRELOAD="$shim" HOLTER="dir=$dir/out,$settings" "$@"
	else
		exec "${as[@]}" "$@"
	fi
}

# Dumps the family of a process; symbols are resolved by the command.
dump_of()
{
	[ "$mode" = recorded ] || return 0
	"$holter" dump "$1" -o "$dir/out/dump.jfr" >"$dir/dump.out" 2>&1 ||
		complain "holter dump $1: $(cat "$dir/dump.out")"
}

truth() { printf '%s\n' "$@" >>"$dir/truth"; }

# Both runs wrote what a user sees into $dir/MODE.seen.
compare_runs()
{
	diff "$dir/bare.seen" "$dir/recorded.seen" >"$dir/diff" ||
		complain "bare and recorded differ: $(head -n 6 "$dir/diff")"
	[ -s "$dir/bare.seen" ] || complain 'the bare run showed nothing'
}

judge()
{
	local file=$dir/out/dump.jfr

	[ -f "$file" ] || return
	"$holter" print --json --stack-depth 64 "$file" >"$dir/dump.json" 2>"$dir/print.err" ||
		complain "holter print: $(head -n 3 "$dir/print.err")"
	"$PYTHON" tests/e2e/judge.py "$dir/truth" "$dir/dump.json" >>"$dir/verdict" 2>&1
	command -v jfr >/dev/null || return
	jfr summary "$file" >"$dir/jfr.summary" 2>&1 || complain "jfr summary: $(head -n 3 "$dir/jfr.summary")"
	"$holter" summary "$file" >"$dir/our.summary" 2>&1 || complain 'holter summary failed'
	diff <(awk 'NF == 3 && $2 > 0 && $1 ~ /\./ { print $1, $2 }' "$dir/jfr.summary" | sort) \
		<(awk 'NF == 3 && $2 > 0 && $1 ~ /\./ { print $1, $2 }' "$dir/our.summary" | sort) >"$dir/diff" ||
		complain "jfr and holter count differently: $(head -n 6 "$dir/diff")"
}

# Waits for a server that was asked to end; one that does not is killed.
ended()
{
	local i

	for ((i = 0; i < 400; i++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.05
	done
	if kill -0 "$pid" 2>/dev/null; then
		complain "$pid did not end"
		kill -KILL "$pid"
	fi
	wait "$pid" 2>/dev/null
}

# case_run NAME FUNCTION PROGRAM...: runs FUNCTION once with mode=bare, once with mode=recorded.
case_run()
{
	local name=$1 body=$2 program
	local dir=$work/$name mode settings=settings=profile as=() pid

	# shellcheck disable=SC2053 # a glob
	[[ $name == $glob ]] || return 0
	shift 2
	for program in "$@"; do
		if ! PATH=$PATH:/usr/sbin command -v "$program" >/dev/null; then
			echo "SKIP $name: $program is not installed"
			skipped=$((skipped + 1))
			return
		fi
	done
	rm -rf "$dir"
	mkdir -p "$dir/out"
	chmod 777 "$dir" "$dir/out"
	: >"$dir/verdict"
	for mode in bare recorded; do
		pid=
		$body >"$dir/$mode.log" 2>&1 </dev/null
		# What hangs here would hang the whole run.
		[ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null || { complain "$pid still runs"; kill -KILL "$pid"; }
	done
	compare_runs
	[ ! -s "$dir/truth" ] || judge
	if [ -s "$dir/verdict" ]; then
		failed=$((failed + 1))
		echo "FAIL $name"
		head -n 30 "$dir/verdict"
	else
		passed=$((passed + 1))
		echo "ok $name"
		rm -rf "$dir/out" "$dir/dump.json"
	fi
}

# --- redis: one thread, jemalloc, exported symbols -------------------------------------------------

redis_case()
{
	local port seen=$dir/$mode.seen

	port=$(free_port)
	settings=settings=profile,alloc=64k,memory=4M,SocketRead#stackTrace=true
	mkdir -p "$dir/$mode"
	become redis-server --port "$port" --save '' --appendonly no --dir "$dir/$mode" \
		--bind 127.0.0.1 >"$dir/$mode.server" 2>&1 &
	pid=$!
	wait_for redis-cli -p "$port" ping
	redis-benchmark -p "$port" -n 20000 -c 10 -t set,get,lpush -q >"$dir/$mode.benchmark" 2>&1 ||
		complain 'redis-benchmark failed'
	{
		redis-cli -p "$port" set a 1
		redis-cli -p "$port" incrby a 41
		redis-cli -p "$port" rpush list c a b
		redis-cli -p "$port" sort list alpha
		redis-cli -p "$port" eval 'return redis.call("get", KEYS[1])' 1 a
		redis-cli -p "$port" config get maxmemory
	} >"$seen" 2>&1
	dump_of "$pid"
	redis-cli -p "$port" shutdown nosave
	ended
	echo "exit status $?" >>"$seen"
	[ "$mode" = bare ] && truth \
		'expect jdk.SocketRead count>=1000 process~^redis-server address=127.0.0.1 bytesRead>=1' \
		'expect jdk.SocketWrite count>=1000 process~^redis-server address=127.0.0.1 bytesWritten>=1' \
		'expect holter.SocketAccept count>=10 process~.' \
		'expect profiler.Malloc count>=10 process~^redis-server' \
		'expect-stack profiler.Malloc ... processCommand ... aeMain main ...' \
		'expect-stack jdk.SocketRead count>=1000 ... readQueryFromClient ... aeMain main ...' \
		'expect jdk.JVMInformation count=1 jvmName~redis' \
		'expect jdk.NativeLibrary name~libjemalloc'
}

# --- memcached: threads, libevent ------------------------------------------------------------------

memcached_client()
{
	"$PYTHON" - "$1" <<'END'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
f = s.makefile("rwb")
for i in range(2000):
    value = b"v%d" % (i * 7)
    f.write(b"set key%d 0 0 %d\r\n%s\r\n" % (i, len(value), value)); f.flush()
    assert f.readline() == b"STORED\r\n"
for i in range(0, 2000, 3):
    f.write(b"get key%d\r\n" % i); f.flush()
    print(f.readline().decode().strip(), f.readline().decode().strip(), f.readline().decode().strip())
f.write(b"incr nothing 1\r\n"); f.flush()
print(f.readline().decode().strip())
END
}

memcached_case()
{
	local port user=()

	port=$(free_port)
	settings=settings=profile,memory=4M,SocketRead#stackTrace=true
	[ "$(id -u)" != 0 ] || user=(-u root)
	become memcached -p "$port" -U 0 -l 127.0.0.1 -t 3 "${user[@]}" &
	pid=$!
	wait_for "$PYTHON" -c "import socket; socket.create_connection(('127.0.0.1', $port))"
	memcached_client "$port" >"$dir/$mode.seen" 2>&1
	if command -v memcslap >/dev/null; then
		memcslap --servers=127.0.0.1:"$port" --concurrency=4 --execute-number=200 >/dev/null 2>&1 ||
			complain 'memcslap failed'
	fi
	dump_of "$pid"
	kill -TERM "$pid"
	ended
	echo "exit status $?" >>"$dir/$mode.seen"
	[ "$mode" = bare ] && truth \
		'expect jdk.SocketRead count>=2000 process~^memcached address=127.0.0.1 bytesRead>=1' \
		'expect jdk.SocketWrite count>=2000 process~^memcached address=127.0.0.1' \
		'expect holter.SocketAccept count>=2' \
		'expect jdk.ThreadStart count>=3' \
		'expect-stack jdk.SocketRead count>=1000 ... event_base_loop ...' \
		'expect jdk.NativeLibrary name~libevent'
}

# --- nginx: master and workers of another user -----------------------------------------------------

nginx_configuration()
{
	cat <<END
worker_processes 2;
daemon off;
pid $dir/$mode/nginx.pid;
error_log $dir/$mode/error.log;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path $dir/$mode/body;
	proxy_temp_path $dir/$mode/proxy;
	fastcgi_temp_path $dir/$mode/fastcgi;
	uwsgi_temp_path $dir/$mode/uwsgi;
	scgi_temp_path $dir/$mode/scgi;
	server {
		listen 127.0.0.1:$1;
		root $dir/$mode/www;
		location /moved { return 301 /index.html; }
	}
}
END
}

nginx_case()
{
	local port

	port=$(free_port)
	settings=settings=profile,memory=8M,SocketRead#stackTrace=true,FileOpen#threshold=0ns
	mkdir -p "$dir/$mode/www"
	seq 1 2000 >"$dir/$mode/www/index.html"
	chmod -R a+rwX "$dir"
	nginx_configuration "$port" >"$dir/$mode/nginx.conf"
	PATH=$PATH:/usr/sbin become nginx -c "$dir/$mode/nginx.conf" &
	pid=$!
	wait_for curl -s -o /dev/null "http://127.0.0.1:$port/"
	wrk -t 1 -c 8 -d 1s "http://127.0.0.1:$port/" >"$dir/$mode.wrk" 2>&1 || complain 'wrk failed'
	{
		curl -s "http://127.0.0.1:$port/index.html" | md5sum
		curl -s -o /dev/null -w '%{http_code}\n' "http://127.0.0.1:$port/nothing"
		curl -s -o /dev/null -w '%{http_code} %{redirect_url}\n' "http://127.0.0.1:$port/moved" |
			sed "s/:$port//"
	} >"$dir/$mode.seen" 2>&1
	dump_of "$pid"
	kill -QUIT "$pid"
	ended
	echo "exit status $?" >>"$dir/$mode.seen"
	[ "$mode" = bare ] && truth \
		'expect holter.ProcessFork count=2' \
		'expect jdk.SocketRead count>=100 process~^nginx bytesRead>=20' \
		'expect jdk.SocketWrite count>=100 process~^nginx' \
		'expect-stack jdk.SocketRead count>=100 ... ngx_master_process_cycle main ...' \
		'expect holter.FileOpen count>=100 path~index.html' \
		'expect jdk.NativeLibrary name~nginx'
}

# --- PostgreSQL: one process per connection, another user ------------------------------------------

postgres_case()
{
	local port data=$dir/$mode bin

	bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/postgres' | tail -n 1)")
	port=$(free_port)
	settings=settings=profile,memory=8M,FileForce#threshold=0ns
	mkdir -p "$data"
	if [ "$(id -u)" = 0 ]; then
		as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
		chown postgres "$data"
	fi
	# initdb starts postgres through shells and pipes; it is recorded too, by itself.
	launch "$bin/initdb" -D "$data" -A trust -E UTF8 --no-locale >"$dir/$mode.initdb" 2>&1
	echo "initdb exit status $?" >"$dir/$mode.seen"
	become "$bin/postgres" -D "$data" -p "$port" -k "$dir" -c listen_addresses=127.0.0.1 \
		>"$dir/$mode.server" 2>&1 &
	wait_for "${as[@]}" "$bin/pg_isready" -q -h 127.0.0.1 -p "$port"
	pid=$(head -n 1 "$data/postmaster.pid")
	"${as[@]}" "$bin/pgbench" -i -q -s 1 -h 127.0.0.1 -p "$port" postgres >"$dir/$mode.init" 2>&1 ||
		complain 'pgbench -i failed'
	"${as[@]}" "$bin/pgbench" -n -c 4 -t 100 -h 127.0.0.1 -p "$port" postgres >"$dir/$mode.pgbench" 2>&1 ||
		complain 'pgbench failed'
	{
		grep 'actually processed' "$dir/$mode.pgbench"
		"${as[@]}" "$bin/psql" -At -h 127.0.0.1 -p "$port" postgres -c \
			'select count(*), sum(aid) from pgbench_accounts; select sum(delta) = sum(0) from pgbench_history where false;
			 select 1/0; create table t as select generate_series(1, 1000) n; select sum(n) from t'
	} >>"$dir/$mode.seen" 2>&1
	dump_of "$pid"
	kill -INT "$pid"
	ended
	[ -f "$data/postmaster.pid" ] && complain 'postgres did not shut down'
	[ "$mode" = bare ] && truth \
		'expect holter.ProcessFork count>=4' \
		'expect jdk.SocketRead count>=100 process~^postgres' \
		'expect jdk.SocketWrite count>=100 process~^postgres' \
		'expect jdk.FileForce count>=50 process~^postgres path~pg_wal' \
		'expect-stack jdk.FileForce count>=50 ... XLogFlush ... CommitTransactionCommand ... PostgresMain ... main ...' \
		'expect jdk.NativeLibrary name~postgres'
}

# --- python3 ---------------------------------------------------------------------------------------

python_case()
{
	local script=$dir/script.py

	settings=settings=profile,dumponexit=yes,alloc=64k,compress=no,FileRead#threshold=0ns
	cat >"$script" <<'END'
import hashlib, json, os, socket, subprocess, sys, threading, time, zlib
data = json.dumps([{"n": i, "s": "x" * (i % 50)} for i in range(20000)])
print(len(data), hashlib.sha256(zlib.compress(data.encode())).hexdigest())
server = socket.create_server(("127.0.0.1", 0))
def serve():
    peer, _ = server.accept()
    with peer, peer.makefile("rwb") as stream:
        for line in stream:
            stream.write(line.upper()); stream.flush()
thread = threading.Thread(target=serve); thread.start()
with socket.create_connection(server.getsockname()) as client, client.makefile("rwb") as stream:
    for i in range(100):
        stream.write(b"hello %d\n" % i); stream.flush()
        assert stream.readline() == b"HELLO %d\n" % i
thread.join()
print(subprocess.run(["/bin/echo", "from a child"], capture_output=True, check=True).stdout)
try:
    open("/nonexistent")
except OSError as error:
    print(error)
time.sleep(0.02)
print(sorted(os.environ.keys() - {"LD_PRELOAD", "HOLTER", "_"}))
sys.exit(5)
END
	launch /usr/bin/python3 "$script" >"$dir/$mode.seen" 2>&1
	echo "exit status $?" >>"$dir/$mode.seen"
	[ "$mode" = bare ] && truth \
		'expect jdk.SocketRead count>=200 process~^python3 address=127.0.0.1' \
		'expect jdk.SocketWrite count>=200 process~^python3' \
		'expect holter.SocketAccept count=1' \
		'expect jdk.ThreadSleep count>=0' \
		'expect-stack profiler.Malloc ... _PyEval_EvalFrameDefault ... Py_RunMain ... Py_BytesMain ...' \
		'expect jdk.ThreadStart count>=1'
	[ "$mode" = bare ] || mv "$dir"/out/holter-python3*.jfr "$dir/out/dump.jfr" ||
		complain "no dump at exit: $(ls "$dir/out")"
}

# --- thirty common commands: nothing may differ ----------------------------------------------------

commands_case()
{
	local command input=$dir/input

	settings=settings=everything,alloc=all,memory=2M
	mkdir -p "$input/sub"
	seq 1 5000 >"$input/numbers"
	cp Makefile "$input/sub/text"
	while IFS= read -r command; do
		echo "== $command"
		# The subject is what bash starts; bash itself is recorded as well.
		(cd "$input" && launch timeout 60 bash -c "$command" 2>&1)
		echo "exit status $?"
	done >"$dir/$mode.seen" <<'END'
ls -la --time-style=+ numbers sub
find . -type f | sort
grep -c 1 numbers
sort -rn numbers | head -n 3
sed -n '10,12p' numbers
awk '{ s += $1 } END { print s }' numbers
tar cf - --sort=name --mtime=@0 --owner=0 --group=0 . | md5sum
gzip -nc numbers | md5sum
gzip -nc numbers | gzip -d | md5sum
xz -c numbers | xz -d | md5sum
sha256sum numbers sub/text
diff numbers sub/text | wc -l
cut -c1-2 numbers | uniq -c | tail -n 2
tr 0-9 a-j < numbers | tail -n 1
wc numbers sub/text
head -c 100 /dev/zero | od -c
perl -e 'my %h = map { $_ => 1 } 1..1000; print scalar(keys %h), "\n"; exit 3'
sh -c 'echo $((6 * 7)); exit 4'
for i in 1 2 3; do echo $i; done | while read x; do echo got $x; done
cat nothing
echo done | tee copy && rm copy
cp numbers other && cmp numbers other && rm other
date -u -d @0
expr 3 \* 4
seq 1 100 | xargs -n 10 -P 2 echo | sort
printf '%s\n' b a c | sort
dd if=numbers bs=64 count=3 status=none | md5sum
stat -c '%s %F' numbers
ldd /bin/true | grep -c libc.so
sleep 0.01 && true
env -i /bin/echo empty
sqlite3 :memory: 'create table t(a); insert into t values (1), (2); select sum(a) from t'
git --version
perl -e 'my $s = system("sh", "-c", q(kill -SEGV $$)); exit($s & 127)'
bash -c 'ulimit -n 16; exec 9>&-; echo limited'
END
}

if [ ! -x "$holter" ] || [ ! -f "$shim" ]; then
	echo "FAIL $holter or $shim is missing: run make"
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi
case_run redis redis_case redis-server redis-cli redis-benchmark
case_run memcached memcached_case memcached
case_run nginx nginx_case nginx wrk curl
case_run postgres postgres_case /usr/lib/postgresql/*/bin/postgres setpriv
case_run python3 python_case /usr/bin/python3
case_run commands commands_case bash perl
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
