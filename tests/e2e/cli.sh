#!/usr/bin/env bash
# The recording commands as people use and misuse them: run, ps, check, start, stop, configure, dump,
# recover, and the leader's life.
#
#   O=build/release tests/e2e/cli.sh [PATTERN]     only the tests whose name matches
#
# In: build/release/holter and libholter.so. Out: a line per failure, then `N passed, N failed, N skipped`.
# Every message is one line; exit status 1 failed, 2 wrong use. No test waits for a time to be right:
# they wait for a state, with a bound.
set -u
O=${O:-build/release}
PYTHON=${PYTHON:-python3}
only=${1:-*}
root=$PWD
H=$root/$O/holter
SHIM=$root/$O/libholter.so
work=$(mktemp -d "${TMPDIR:-/tmp}/cli.XXXXXX")
passed=0 failed=0 skipped=0 name='' status=0 out='' err=''
pids=()
unset HOLTER LD_PRELOAD
export LC_ALL=C
cd "$work" || exit 1

cleanup()
{
	local pid
	for pid in "${pids[@]:-}"; do
		[ -z "$pid" ] || kill -9 "$pid" 2>/dev/null
	done
	wait 2>/dev/null
	cd / && rm -rf "$work"
}
trap cleanup EXIT

fail()
{
	echo "FAIL $name: $*"
	[ -z "$err" ] || echo "    stderr: $(head -c 500 <<<"$err")"
	bad=1
}

# Runs a command; sets status, out, err.
try()
{
	out=$("$@" 2>"$work/stderr" </dev/null)
	status=$?
	err=$(cat "$work/stderr")
}

expect_status()
{
	[ "$status" = "$1" ] || fail "exit status $status instead of $1"
}

expect_out()
{
	grep -qE -- "$1" <<<"$out" || fail "output lacks /$1/: $(head -c 300 <<<"$out")"
}

# One line on stderr that matches.
expect_error()
{
	expect_status "$1"
	[ "$(wc -l <<<"$err")" = 1 ] || fail 'the message is not one line'
	grep -qE -- "$2" <<<"$err" || fail "message lacks /$2/"
	[ -z "$out" ] || fail "output beside an error: $out"
}

# Waits until a command succeeds, at most 20 s.
await()
{
	local i
	for ((i = 0; i < 400; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		sleep 0.05
	done
	fail "never came true: $*"
	return 1
}

regions_of() { ls /dev/shm/holter-"$1"-* 2>/dev/null; }
no_region_of() { ! regions_of "$1"; }
gone() { ! kill -0 "$1" 2>/dev/null; }
has_files() { [ "$(find "$1" -maxdepth 1 -name '*.jfr*' ! -name '*.tmp*' | wc -l)" -ge "$2" ]; }

# Starts a recorded sleep in $work/$name, sets pid and region; more options of run as arguments.
start_sleep()
{
	dir=$work/$name
	mkdir -p "$dir"
	"$H" run --dir "$dir" -o log="$dir/log" "$@" -- sleep 1000 </dev/null >/dev/null 2>&1 &
	pid=$!
	disown "$pid"
	pids+=("$pid")
	await regions_of "$pid"
	region=$(regions_of "$pid")
	# The program has begun when the shim has named it.
	await grep -q sleep /proc/"$pid"/comm
	await eval "\"$H\" check $pid | grep -q '$pid sleep'"
}

leader_of() { "$H" ps --json | "$PYTHON" -c "
import json, sys
print([r['leader'] for r in json.load(sys.stdin)['regions'] if r['rootPid'] == $1][0])"; }

is_recording_file()
{
	case $1 in
	*.lz4) [ "$(head -c 4 "$1" | od -An -tx1 | tr -d ' ')" = 04224d18 ] ;;
	*) [ "$(head -c 3 "$1")" = FLR ] ;;
	esac || fail "$1 is no recording"
}

run_test()
{
	name=${1#test_} bad=0 err=''
	# shellcheck disable=SC2254
	case $name in
	$only) ;;
	*) return ;;
	esac
	"$1"
	if [ $bad = 2 ]; then
		skipped=$((skipped + 1))
	elif [ $bad = 0 ]; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
	fi
}

skip()
{
	echo "SKIP $name: $*"
	bad=2
}

test_help()
{
	try "$H"
	expect_status 2
	try "$H" --help
	expect_status 0
	expect_out '^  run +start a program'
	for command in run ps check start stop dump configure recover; do
		try "$H" "$command" --help
		expect_status 0
		expect_out "^usage: holter $command"
		try "$H" help "$command"
		expect_status 0
	done
	try "$H" --version
	expect_out '^holter [0-9]'
}

test_unknown_command()
{
	try "$H" dmup 1
	expect_error 2 'unknown command "dmup": did you mean "dump"\?'
	try "$H" xyzzy
	expect_error 2 'unknown command "xyzzy"'
	try "$H" dump --outputt x 1
	expect_error 2 'unknown option --outputt: did you mean --output\?'
	try "$H" dump -o
	expect_error 2 'option -o needs a value'
	try "$H" ps --json=1
	expect_error 2 'takes no value'
}

test_full_disk_behind_stdout()
{
	"$H" --help >/dev/full 2>"$work/stderr"
	status=$? out='' err=$(cat "$work/stderr")
	expect_error 1 'No space left'
}

test_run_refuses_wrong_settings_before_anything()
{
	local marker=$work/marker
	try "$H" run -o memroy=16M -- touch "$marker"
	expect_error 2 'unknown key "memroy": did you mean "memory"\?'
	try "$H" run -o memory=16Q -- touch "$marker"
	expect_error 2 'memory: "16Q" has a wrong unit'
	try "$H" run -o 'SocketReed#threshold=1ms' -- touch "$marker"
	expect_error 2 'unknown event "SocketReed": did you mean "SocketRead"\?'
	try "$H" run -s defualt -- touch "$marker"
	expect_error 2 'settings: "defualt" is neither'
	try "$H" run -o config=/nonexistent -- touch "$marker"
	expect_error 2 'config: "/nonexistent" cannot be read'
	try env HOLTER=nonsense=1 "$H" run -- touch "$marker"
	expect_error 2 'unknown key "nonsense"'
	try "$H" run
	expect_error 2 'no command given'
	[ ! -e "$marker" ] || fail 'the program was started'
	# shellcheck disable=SC2016 # for the inner shell
	pid=$(sh -c 'echo $$; exec "$0" run -o memroy=1M -- true' "$H" 2>/dev/null)
	no_region_of "$pid" || fail 'a region was left'
}

test_run_refuses_what_cannot_be_recorded()
{
	printf '#!/nonexistent/interpreter\n' >script
	printf 'int main(void) { return 0; }\n' >empty.c
	chmod +x script
	try "$H" run -- /nonexistent/program
	expect_error 1 '/nonexistent/program: No such file'
	try "$H" run -- no-such-program-here
	expect_error 1 'no-such-program-here: no such program in PATH'
	try "$H" run -- /tmp
	expect_error 1 '/tmp: is a folder'
	try "$H" run -- /etc/passwd
	expect_error 1 'may not be executed'
	try "$H" run -- ./script
	expect_error 1 'its interpreter /nonexistent/interpreter cannot be executed'
	if cc -static -o static empty.c 2>/dev/null; then
		try "$H" run -- ./static
		expect_error 1 '\./static: is statically linked'
		printf '#!%s\n' "$work/static" >by-static
		chmod +x by-static
		try "$H" run -- ./by-static
		expect_error 1 'static: is statically linked'
	fi
	# Another machine's program: the header of one suffices.
	cp /bin/true other && printf '\267\000' | dd of=other bs=1 seek=18 conv=notrunc 2>/dev/null
	try "$H" run -- ./other
	expect_error 1 'is not an x86-64 program'
}

test_run_refuses_set_user_id()
{
	[ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
	command -v setpriv >/dev/null || { skip 'needs setpriv'; return; }
	chmod 755 "$work"
	cp /bin/true suid && chmod 4755 suid
	# The build tree may be closed to others.
	cp "$H" holter && cp "$SHIM" . && chmod 755 holter libholter.so
	try setpriv --reuid=65534 --regid=65534 --clear-groups ./holter run -- ./suid
	expect_error 1 'is set-user-ID'
	try ./holter run -- ./suid
	expect_status 0
	rm -f suid holter libholter.so
}

test_run_keeps_pid_status_streams()
{
	local before
	out=$(sh -c "echo \$\$; exec '$H' run -- sh -c 'echo \$\$'")
	[ "$(sed -n 1p <<<"$out")" = "$(sed -n 2p <<<"$out")" ] || fail "pid changed: $out"
	try "$H" run -- sh -c 'echo to-out; echo to-err >&2; exit 37'
	expect_status 37
	[ "$out/$err" = to-out/to-err ] || fail "streams: $out / $err"
	[ "$(echo input | "$H" run -- cat)" = input ] || fail 'standard input is lost'
	try "$H" run -- sh -c 'kill -TERM $$'
	[ $status = 143 ] || fail 'death by a signal is not passed on'
	before=$(env A=1 sh -c 'env | grep -vE "^(_|PWD|SHLVL|OLDPWD)=" | sort')
	out=$(env A=1 "$H" run -- sh -c 'env | grep -vE "^(_|PWD|SHLVL|OLDPWD|LD_PRELOAD)=" | sort')
	[ "$before" = "$out" ] || fail 'the environment changed'
	out=$(LD_PRELOAD="$SHIM" "$H" run -- env | sed -n 's/^LD_PRELOAD=//p')
	[ "$out" = "$SHIM" ] || fail "LD_PRELOAD became $out"
	before=$("$PYTHON" -c 'import os; print(sorted(os.listdir("/proc/self/fd")))' </dev/null)
	out=$("$H" run -- "$PYTHON" -c 'import os; print(sorted(os.listdir("/proc/self/fd")))' </dev/null)
	[ "$before" = "$out" ] || fail "descriptors changed: $before / $out"
}

test_run_leaves_no_child_and_no_signal()
{
	cat >child.py <<-'PY'
		import os, signal
		state = dict(l.split(':', 1) for l in open('/proc/self/status') if l.startswith(('Sig', 'Shd')))
		print({k: v.strip() for k, v in state.items() if k not in ('SigQ', 'SigCgt')})
		try:
		    print(os.waitpid(-1, os.WNOHANG))
		except ChildProcessError:
		    print('no child')
	PY
	cat >blocked.py <<-'PY'
		import os, signal, sys
		signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGHUP])
		signal.signal(signal.SIGINT, signal.SIG_IGN)
		os.execvp(sys.argv[1], sys.argv[1:])
	PY
	# What is caught is the recorder's business; what is blocked, ignored or pending is not.
	out=$("$PYTHON" blocked.py "$PYTHON" child.py)
	try "$PYTHON" blocked.py "$H" run -- "$PYTHON" child.py
	[ "$out" = "$("$PYTHON" blocked.py "$PYTHON" child.py)" ] || fail "differs: $out"
	expect_out 'no child'
}

test_ps_and_check()
{
	start_sleep -s profile -o memory=2M,interval=250ms
	try "$H" ps
	expect_status 0
	expect_out "^ *$pid +sleep +recording +2\.0 MiB"
	try "$H" ps --json
	"$PYTHON" -c "
import json, sys
r = [r for r in json.loads(sys.argv[1])['regions'] if r['rootPid'] == $pid][0]
assert r['state'] == 'recording' and r['memoryBytes'] == 2 << 20 and r['chunks'] == 256, r
assert r['leader'] > 0 and r['processes'][0]['pid'] == $pid and r['processes'][0]['name'] == 'sleep', r
assert r['processes'][0]['executable'].endswith('/sleep'), r" "$out" || fail 'ps --json'
	try "$H" check "$pid"
	expect_status 0
	expect_out "^  settings +profile"
	expect_out "^  interval +250ms"
	expect_out "^leader: +[0-9]+"
	expect_out "^lost: +nothing"
	try "$H" check --events "$pid"
	expect_out 'jdk.SocketRead +on'
	try "$H" check --json "$pid"
	"$PYTHON" -c "
import json, sys
c = json.loads(sys.argv[1])
assert c['state'] == 'recording' and c['problems'] == '' and c['settings']['memory'] == '2M', c
e = {e['name']: e for e in c['events']}
assert e['jdk.SocketRead']['enabled'] and e['jdk.JavaMonitorEnter']['thresholdNanos'] == 100000
assert not e['holter.Poll']['enabled'] and e['profiler.Malloc']['stackTrace']" "$out" || fail 'check --json'
	try "$H" ps extra
	expect_error 2 'takes no argument'
	kill -9 "$pid"
}

test_bad_keys_of_a_bare_preload()
{
	mkdir -p "$work/$name"
	LD_PRELOAD=$SHIM HOLTER="memroy=1M,dir=$work/$name,alloc=all,locks=spin" \
		sleep 1000 >"$work/$name/out" 2>&1 &
	pid=$!
	disown "$pid"
	pids+=("$pid")
	await eval "'$H' check $pid | grep -q '$pid sleep'"
	try "$H" check "$pid"
	expect_out '^configuration: unknown key "memroy": did you mean "memory"\?; locks: "spin"'
	expect_out '^  alloc +all'
	[ ! -s "$work/$name/out" ] || fail 'something was printed by the program'
	kill -9 "$pid"
	await gone "$pid"
	"$H" recover "$pid" >/dev/null 2>&1
}

test_stop_start_configure()
{
	start_sleep
	try "$H" stop "$pid"
	expect_status 0
	try "$H" check "$pid"
	expect_out 'stopped since'
	try "$H" stop "$pid"
	grep -q 'is stopped already' <<<"$err" || fail 'stopped twice'
	try "$H" start "$pid"
	expect_status 0
	try "$H" check "$pid"
	expect_out 'recording since'
	try "$H" configure "$pid" alloc=all 'SocketRead#threshold=5ms' interval=1s
	expect_status 0
	try "$H" check --events "$pid"
	expect_out '^  alloc +all'
	expect_out '^  interval +1s'
	expect_out 'jdk.SocketRead +on +5.00 ms'
	try "$H" configure "$pid" memory=1M
	expect_error 2 'memory cannot be changed while the program runs: the ring has'
	try "$H" configure "$pid" children=no
	expect_error 2 'children cannot be changed'
	try "$H" configure "$pid" alloc=64k aloc=all
	expect_error 2 'unknown key "aloc": did you mean "alloc"\?'
	try "$H" check "$pid"
	expect_out '^  alloc +all' # nothing was applied by half
	try "$H" configure alloc=all
	expect_error 2 'give the process first'
	try "$H" configure "$pid"
	expect_error 2 'give at least one KEY=VALUE'
	kill -9 "$pid"
}

test_dump()
{
	local folder
	start_sleep
	try "$H" dump "$pid"
	expect_status 0
	expect_out "^$dir/holter-sleep-$pid-[0-9]{8}T[0-9]{6}\.jfr\.lz4$"
	is_recording_file "$out"
	try "$H" dump "$pid" -o "$dir/plain.jfr"
	expect_status 0
	is_recording_file "$dir/plain.jfr"
	try "$H" dump -o "$dir/new/folder/framed.jfr.lz4" --last 30s sleep
	expect_status 0
	is_recording_file "$dir/new/folder/framed.jfr.lz4"
	try "$H" dump "$region" -o "$dir/plain.jfr"
	expect_status 0
	[ "$(stat -c %a "$dir/plain.jfr")" = 600 ] || fail 'others may read the file'
	folder=$dir/plain.jfr/x.jfr
	try "$H" dump "$pid" -o "$folder"
	expect_error 1 "x.jfr|plain.jfr"
	try "$H" dump "$pid" --last 30
	expect_error 2 '"30" is not a time'
	try "$H" dump "$pid" --last 0s
	expect_error 2 'would leave nothing'
	try "$H" dump
	expect_error 2 'give a process'
	try "$H" dump "$pid" "$pid"
	expect_error 2 'one process only'
	[ -z "$(find "$dir" -name '*.tmp*' -o -name '.holter*')" ] || fail 'a temporary file was left'
	kill -9 "$pid"
}

test_who_is_meant()
{
	sleep 1000 &
	pid=$!
	disown "$pid"
	pids+=("$pid")
	for command in dump check start stop; do
		try "$H" "$command" "$pid"
		expect_error 1 "process $pid \((sleep|bash|cli.sh)\) is not recorded: start it with"
	done
	try "$H" dump 999999999
	expect_error 1 'no process 999999999: .holter ps.'
	try "$H" dump 99999999999999
	expect_error 2 'is not a process id'
	try "$H" dump no-such-program
	expect_error 1 'no recorded program is called "no-such-program"'
	try "$H" dump /etc/passwd
	expect_error 1 '/etc/passwd: not a region'
	try "$H" dump /dev/shm/holter-1-none
	expect_error 1 'holter-1-none: cannot be opened'
	printf 'garbage' >/dev/shm/holter-999999998-0
	try "$H" dump /dev/shm/holter-999999998-0
	expect_error 1 'not a region of this version'
	try "$H" ps
	expect_status 0
	try "$H" recover --clean /dev/shm/holter-999999998-0
	expect_status 0
	[ ! -e /dev/shm/holter-999999998-0 ] || fail 'not cleaned'
	kill -9 "$pid"
}

test_two_of_a_name()
{
	local one two
	start_sleep
	one=$pid
	start_sleep
	two=$pid
	try "$H" dump sleep
	expect_error 1 "called \"sleep\": give one of the pids.* ($one|$two)"
	kill -9 "$one" "$two"
}

test_other_users()
{
	[ "$(id -u)" = 0 ] || { skip 'needs root'; return; }
	command -v setpriv >/dev/null || { skip 'needs setpriv'; return; }
	start_sleep
	chmod 755 "$work"
	cp "$H" holter && chmod 755 holter
	for command in dump check stop; do
		try setpriv --reuid=65534 --regid=65534 --clear-groups ./holter "$command" "$pid"
		expect_error 1 "process $pid \(sleep\) belongs to another user: run as that user or as root"
	done
	try setpriv --reuid=65534 --regid=65534 --clear-groups ./holter dump "$region"
	expect_error 1 'belongs to another user'
	try setpriv --reuid=65534 --regid=65534 --clear-groups ./holter ps
	expect_status 0
	rm -f holter
	kill -9 "$pid"
}

test_signals_are_answered()
{
	local i
	start_sleep
	kill -USR2 "$pid"
	await has_files "$dir" 1
	await grep -q 'Signal USR2 to process' "$dir/log"
	# A burst: at least one more file, and then rest.
	for ((i = 0; i < 20; i++)); do kill -USR2 "$pid"; done
	await has_files "$dir" 2
	kill -0 "$pid" 2>/dev/null || fail 'the signal ended the program'
	for file in "$dir"/*.jfr*; do is_recording_file "$file"; done
	kill -9 "$pid"
}

test_killed_programs_are_dumped()
{
	start_sleep
	kill -9 "$pid"
	await has_files "$dir" 1
	await no_region_of "$pid"
	grep -q "Process $pid was killed" "$dir/log" || fail "log: $(cat "$dir/log")"
	try "$H" recover "$pid"
	expect_error 1 "nothing to recover of $pid"
	try "$H" dump "$pid"
	expect_error 1 "no process $pid"
}

test_a_program_that_ends_leaves_nothing()
{
	mkdir -p "$work/$name"
	try "$H" run --dir "$work/$name" -- sh -c 'exit 0'
	expect_status 0
	[ -z "$(ls "$work/$name")" ] || fail 'a file without being asked'
	try "$H" run --dir "$work/$name" -o dumponexit=yes -- sh -c 'echo $$'
	await no_region_of "$out"
	has_files "$work/$name" 1 || fail 'no dump at exit'
	[ "$(find "$work/$name" -name '*.jfr*' | wc -l)" = 1 ] || fail 'more than one dump at exit'
}

test_the_leader_is_replaced()
{
	local leader
	start_sleep
	leader=$(leader_of "$pid")
	[ "$leader" -gt 0 ] || fail 'no leader'
	kill -9 "$leader"
	await gone "$leader"
	try "$H" ps
	expect_out "^ *$pid .* none "
	try "$H" dump "$pid" # needs no leader
	expect_status 0
	kill -USR2 "$pid"
	await has_files "$dir" 2
	await eval "[ \"\$(leader_of $pid)\" -gt 0 ]"
	kill -9 "$pid"
	await no_region_of "$pid"
}

test_recover()
{
	start_sleep -o leader=none
	kill -9 "$pid"
	await gone "$pid"
	[ -n "$(regions_of "$pid")" ] || fail 'the region is gone'
	try "$H" ps
	expect_out "^ *$pid +sleep +dead"
	try "$H" dump "$pid"
	expect_error 1 "process $pid has ended, but left its recording: use .holter recover $pid"
	try "$H" recover --keep "$pid" -o "$dir/kept.jfr"
	expect_status 0
	is_recording_file "$dir/kept.jfr"
	try "$H" recover "$pid"
	expect_status 0
	expect_out "^$dir/holter-sleep-$pid-.*\.jfr\.lz4$"
	is_recording_file "$out"
	no_region_of "$pid" || fail 'the region is still there'
	try "$H" recover "$pid"
	expect_error 1 'nothing to recover'
	try "$H" recover --keep --clean
	expect_error 2 'exclude each other'
	try "$H" recover -o x.jfr
	expect_error 2 'needs a process'
}

test_recover_of_a_living_one()
{
	start_sleep
	try "$H" recover "$pid"
	expect_error 1 "$pid is alive: use .holter dump $pid"
	try "$H" recover
	expect_status 0
	[ -n "$(regions_of "$pid")" ] || fail 'a living region was removed'
	kill -9 "$pid"
}

test_a_leader_thread()
{
	start_sleep -o leader=thread,interval=100ms
	await eval "'$H' check $pid | grep -q 'a thread of it'"
	kill -USR2 "$pid"
	await has_files "$dir" 1
	kill -9 "$pid"
	await gone "$pid"
	try "$H" recover "$pid"
	expect_status 0
}

# A filter for all threads that kills at the first openat: a leader that went on would end the program.
test_a_leader_thread_behind_a_filter()
{
	cat >filter.py <<-'PY'
		import ctypes, struct, time
		libc = ctypes.CDLL(None, use_errno=True)
		def op(code, jt, jf, k): return struct.pack('HBBI', code, jt, jf, k)
		# load the number; openat: kill the process; else allow
		code = op(0x20, 0, 0, 0) + op(0x15, 0, 1, 257) + op(6, 0, 0, 0x80000000) + op(6, 0, 0, 0x7fff0000)
		program = ctypes.create_string_buffer(code, len(code))
		fprog = ctypes.create_string_buffer(struct.pack('HxxxxxxQ', 4, ctypes.addressof(program)), 16)
		time.sleep(0.3)
		libc.prctl(38, 1, 0, 0, 0)
		# seccomp(SET_MODE_FILTER, TSYNC)
		if libc.syscall(317, 1, 1, fprog):
		    print('no seccomp', ctypes.get_errno())
		time.sleep(1.5)
		print('alive')
	PY
	try "$H" run --dir "$work" -o leader=thread,interval=20ms -- "$PYTHON" filter.py
	if grep -q 'no seccomp' <<<"$out"; then
		skip 'no seccomp filters here'
		return
	fi
	expect_status 0
	expect_out alive
}

# A program that was recorded executes one that is not: its end is no crash.
test_programs_that_lose_the_preload()
{
	dir=$work/$name
	mkdir -p "$dir"
	"$H" run --dir "$dir" -o log="$dir/log" -- env LD_PRELOAD= sleep 1000 &
	pid=$!
	disown "$pid"
	pids+=("$pid")
	await grep -q sleep /proc/"$pid"/comm
	kill -9 "$pid"
	await no_region_of "$pid"
	[ "$(ls "$dir")" = '' ] || fail "files: $(ls "$dir")"
}

test_a_library_that_is_not_ours()
{
	dir=$work/$name
	mkdir -p "$dir"
	HOLTER_LIB=$(ldd /bin/true | awk '/libc.so/ { print $3 }') \
		"$H" run --dir "$dir" -o log="$dir/log" -- sleep 1000 &
	pid=$!
	disown "$pid"
	pids+=("$pid")
	await grep -q 'did not load libholter.so' "$dir/log"
	try "$H" ps
	expect_out "^ *$pid +sleep "
	try "$H" check "$pid"
	expect_out 'did not load libholter.so: nothing of it is recorded'
	try env HOLTER_LIB=/nonexistent.so "$H" run -- true
	expect_error 1 'HOLTER_LIB=/nonexistent.so: No such file'
	kill -9 "$pid"
	await no_region_of "$pid"
}

if [ ! -x "$H" ] || [ ! -e "$SHIM" ]; then
	echo "FAIL $H or $SHIM is missing: run make first"
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi
for test in $(declare -F | awk '$3 ~ /^test_/ { print $3 }'); do
	run_test "$test"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
