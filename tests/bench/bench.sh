#!/usr/bin/env bash
# Measures every row of the table of budgets in one interleaved run, and prints the table.
#
#   O=build/release BENCH=quick|full tests/bench/bench.sh
#
# In: the programs bench_*.c, both shims, packages of `.ci/deps bench` (what is missing is told and left out).
# Out: $O/bench/results.txt with single values, `CASE VARIANT VALUE`, one a round; the table, by bench_table.py.
# A measurement is no test: nothing here fails for being slow.
set -u
export LC_ALL=C
O=${O:-build/release}
PYTHON=${PYTHON:-/usr/bin/python3}
out=$PWD/$O/bench
lib=/usr/lib/x86_64-linux-gnu
lttng_wrappers=$lib/liblttng-ust-libc-wrapper.so:$lib/liblttng-ust-pthread-wrapper.so
heaptrack=/usr/lib/heaptrack/libheaptrack_preload.so
results=$out/results.txt
errors=$out/errors.txt
started=$SECONDS
unset LD_PRELOAD HOLTER
work=$(mktemp -d /tmp/holter-bench-XXXXXX)
chmod 755 "$work" # PostgreSQL's user loads the shim as well
# A copy of what is measured, so that the same is measured to the end, whatever is built meanwhile.
mkdir -p "$work/build/bench"
cp "$O/libholter.so" "$O/noop_shim.so" "$O/holter" "$work/build/" &&
	find "$O/bench" -maxdepth 1 -type f -perm -100 -exec cp -t "$work/build/bench/" {} + || exit 1
O=$work/build
B=$O/bench
shim=$O/libholter.so
noop=$O/noop_shim.so
if [ "${BENCH:-full}" = quick ]; then
	rounds=3 inner=10 starts=15 server_rounds=2 load=0.3 requests=3
else
	rounds=7 inner=30 starts=40 server_rounds=7 load=1 requests=9
fi

: >"$results"
skip() { echo "skip $*" | tee -a "$results" >&2; }
step() { printf '%4d s  %s\n' $((SECONDS - started)) "$*" >&2; }

# --- LTTng-UST: a session in snapshot mode -------------------------------------------------------

session=holter-bench-$$
has_lttng=0
sessiond=
lttng_begin()
{
	command -v lttng >/dev/null && [ -e "${lttng_wrappers%%:*}" ] || return
	if ! lttng list >/dev/null 2>&1; then
		lttng-sessiond --daemonize --pidfile "$work/sessiond.pid" >/dev/null 2>&1
		sessiond=$(cat "$work/sessiond.pid" 2>/dev/null)
	fi
	lttng list >/dev/null 2>&1 && has_lttng=1
}

snapshot_on()
{
	lttng create "$session" --snapshot --output="$work/lttng" &&
		lttng enable-channel -u -s "$session" bench --subbuf-size=1M --num-subbuf=4 &&
		lttng enable-event -u -s "$session" -c bench 'lttng_ust_libc:*,lttng_ust_pthread:*' &&
		lttng start "$session"
} >/dev/null 2>&1
snapshot_off() { lttng destroy "$session" >/dev/null 2>&1; }

finish()
{
	[ $has_lttng = 0 ] || snapshot_off
	[ -z "$sessiond" ] || kill "$sessiond"
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# --- calls ---------------------------------------------------------------------------------------

# peer VARIANT VAR=VALUE...: one run of the program that knows of no recorder.
peer()
{
	local variant=$1

	shift
	env "$@" "$B/bench_peer" 15 2>/dev/null | awk -v v="$variant" '{ print "peer-" $1, v, $2 }' >>"$results"
}

peers_round()
{
	# A small ring, so that it is full and turns while it is measured.
	local holter=dir=$work,memory=2M

	peer bare A=1
	peer bare-again A=1
	peer no-op LD_PRELOAD="$noop"
	peer off LD_PRELOAD="$shim" HOLTER="$holter,settings=none"
	peer default LD_PRELOAD="$shim" HOLTER="$holter"
	peer all LD_PRELOAD="$shim" HOLTER="$holter,alloc=all,Malloc#stackTrace=false"
	peer all-stack LD_PRELOAD="$shim" HOLTER="$holter,alloc=all"
	if [ -e $lib/libjemalloc.so.2 ]; then
		peer jemalloc LD_PRELOAD=$lib/libjemalloc.so.2
		peer jemalloc-prof LD_PRELOAD=$lib/libjemalloc.so.2 MALLOC_CONF=prof:true,lg_prof_sample:19
	fi
	if [ -e $lib/libtcmalloc.so.4 ]; then
		peer tcmalloc LD_PRELOAD=$lib/libtcmalloc.so.4
		peer tcmalloc-sampling LD_PRELOAD=$lib/libtcmalloc.so.4 TCMALLOC_SAMPLE_PARAMETER=524288
	fi
	[ ! -e $heaptrack ] || peer heaptrack LD_PRELOAD=$heaptrack DUMP_HEAPTRACK_OUTPUT=/dev/null
	if [ $has_lttng = 1 ]; then
		peer lttng-idle LD_PRELOAD=$lttng_wrappers
		snapshot_on && peer lttng LD_PRELOAD=$lttng_wrappers
		snapshot_off
	fi
}

calls()
{
	local i

	for ((i = 0; i < rounds; i++)); do
		step "calls, round $((i + 1)) of $rounds"
		{
			"$B/bench_malloc" $inner
			"$B/bench_lock" $inner
			"$B/bench_socket" $inner
			"$B/bench_append" $inner
			"$B/bench_stackwalk" $((inner / 4 + 2)) | sed 's/^stackwalk /stack /'
		} >>"$results" 2>>"$errors"
		peers_round
	done
}

startup()
{
	local i extra=()

	step 'start-up of /bin/true'
	[ $has_lttng = 0 ] || extra+=(-- lttng "LD_PRELOAD=$lttng_wrappers")
	[ ! -e $heaptrack ] || extra+=(-- heaptrack "LD_PRELOAD=$heaptrack" DUMP_HEAPTRACK_OUTPUT=/dev/null)
	for ((i = 0; i < rounds; i++)); do
		"$B/bench_startup" $starts /bin/true bare -- bare-again -- no-op LD_PRELOAD="$noop" \
			-- off LD_PRELOAD="$shim" HOLTER="dir=$work,settings=none" \
			-- default LD_PRELOAD="$shim" HOLTER="dir=$work" "${extra[@]}" >>"$results" 2>>"$errors"
	done
}

# --- dumps ---------------------------------------------------------------------------------------

# Milliseconds of processor time that a process has used so far.
cpu_ms() { awk '{ sum += $1 } END { printf "%.2f\n", sum / 1e6 }' /proc/"$1"/task/*/schedstat 2>/dev/null; }

# perf keeps 8 MiB a processor of system calls and writes them at SIGUSR2.
perf_dump()
{
	local recorder load begin i

	command -v perf >/dev/null || return
	(exec dd if=/dev/zero of=/dev/null bs=1 count=1000000000 2>/dev/null) &
	load=$!
	(cd "$work" && exec perf record --overwrite --switch-output=signal -e raw_syscalls:sys_enter -m 2048 -a \
		-o perf.data) >"$work/perf.log" 2>&1 &
	recorder=$!
	sleep 2
	begin=$(cpu_ms $recorder)
	kill -USR2 $recorder 2>/dev/null
	for ((i = 0; i < 300; i++)); do
		grep -q Dump "$work/perf.log" && break
		sleep 0.01
	done
	[ $i = 300 ] || awk -v b="$begin" -v e="$(cpu_ms $recorder)" 'BEGIN { print "dump perf", e - b }' >>"$results"
	kill $load
	kill -INT $recorder 2>/dev/null
	wait $load $recorder 2>/dev/null
	rm -f "$work"/perf.data*
}

# A snapshot of what the wrappers recorded: processor time of the consumer, which writes it.
lttng_dump()
{
	local consumers begin end

	[ $has_lttng = 1 ] || return
	snapshot_on || return
	env LD_PRELOAD=$lttng_wrappers "$B/bench_peer" pairs 400000 &
	wait $!
	# The daemon's consumer serves all programs; each channel has 4 MiB a processor.
	consumers=$(pgrep -x lttng-consumerd | head -n 1)
	if [ -n "$consumers" ]; then
		begin=$(cpu_ms "$consumers")
		lttng snapshot record -s "$session" >/dev/null 2>&1
		end=$(cpu_ms "$consumers")
		awk -v b="$begin" -v e="$end" 'BEGIN { print "dump lttng", e - b }' >>"$results"
	fi
	snapshot_off
}

dumps()
{
	step 'dump of a full ring'
	"$B/bench_dump" "$rounds" 8 "$work" 2>>"$errors" | awk '
		$1 == "plain" || $1 == "lz4" {
			print "dump", $1, $3; print "dump-wall", $1, $6
			print "dump-bytes", $1, $(NF - 3); print "dump-event", $1, $(NF - 1)
		}' >>"$results"
	perf_dump
	lttng_dump
}

# --- all -----------------------------------------------------------------------------------------

: >"$errors"
lttng_begin
[ $has_lttng = 1 ] || skip lttng 'packages lttng-tools liblttng-ust-dev, or its daemon does not start'
[ -e $heaptrack ] || skip heaptrack 'package heaptrack is not installed'
[ -e $lib/libjemalloc.so.2 ] || skip jemalloc 'package libjemalloc2 is not installed'
[ -e $lib/libtcmalloc.so.4 ] || skip tcmalloc 'package libgoogle-perftools4 is not installed'
command -v perf >/dev/null || skip perf 'package linux-perf is not installed'
{
	echo "fact mode ${BENCH:-full}"
	echo "fact machine $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) processors"
	echo "fact kernel $(uname -r)"
	echo "fact glibc $(getconf GNU_LIBC_VERSION)"
	echo "fact load-before $(cut -d' ' -f1 /proc/loadavg)"
	echo "fact date $(date -u +%Y-%m-%d)"
	echo "fact commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown)"
} >>"$results"
calls
startup
dumps
BENCH_LTTNG=$has_lttng
export BENCH_LTTNG
step 'bytes of events'
"$PYTHON" tests/bench/bench_files.py "$O" events "$work" $load >>"$results" 2>>"$errors"
step 'reader'
"$PYTHON" tests/bench/bench_files.py "$O" reader "$work" $load >>"$results" 2>>"$errors"
step 'instructions per request'
if command -v redis-server >/dev/null; then
	timeout 120 "$PYTHON" tests/bench/bench_instructions.py "$O" $requests >>"$results" 2>>"$errors"
else
	skip instructions 'package redis-server is not installed'
fi
step 'servers'
[ $has_lttng = 0 ] || snapshot_on || BENCH_LTTNG=0
"$PYTHON" tests/bench/bench_servers.py --raw --rounds $server_rounds --load $load --build "$O" \
	>>"$results" 2>>"$errors"
[ $has_lttng = 0 ] || snapshot_off
echo "fact load-after $(cut -d' ' -f1 /proc/loadavg)" >>"$results"
echo "fact seconds $((SECONDS - started))" >>"$results"
"$PYTHON" tests/bench/bench_table.py "$results"
[ ! -s "$errors" ] || echo "what went wrong: $errors" >&2
