#!/usr/bin/env bash
# What a dump, and the program, must survive: many dumps, a flood of signals, a dead leader, folders that are
# missing or cannot be written, full disks.
#
#   O=build/release tests/e2e/survive.sh
#
# In: storm, a program whose eight threads record at full speed until its stdin ends, and which exits with 0
# only if all it did came out right. Out: a line per test, then `N passed, N failed, N skipped`.
set -u
export LC_ALL=C
O=${O:-build/release}
shim=$PWD/$O/libholter.so
holter=$PWD/$O/holter
storm=$PWD/$O/e2e/storm
top=$(mktemp -d "${TMPDIR:-/tmp}/holter-survive.XXXXXX")
trap 'rm -rf "$top"' EXIT
passed=0 failed=0 skipped=0

wait_for()
{
	local i

	for ((i = 0; i < 400; i++)); do
		"$@" >/dev/null 2>&1 && return
		sleep 0.05
	done
	return 1
}

# verdict NAME FUNCTION: runs FUNCTION in a subshell with a folder $dir of its own.
verdict()
{
	local name=$1 body=$2 dir=$top/$2 status

	mkdir -p "$dir"
	(set -e; $body) >"$dir/log" 2>&1
	status=$?
	case $status in
	0)
		passed=$((passed + 1))
		echo "ok $name"
		;;
	77)
		skipped=$((skipped + 1))
		echo "SKIP $name: $(tail -n 1 "$dir/log")"
		;;
	*)
		failed=$((failed + 1))
		echo "FAIL $name (exit status $status)"
		tail -n 8 "$dir/log" | sed 's/^/    /'
		;;
	esac
}

# start SETTINGS: the storm, recorded; sets pid. stop: ends it, its status must be 0.
start()
{
	rm -f "$dir/pipe"
	mkfifo "$dir/pipe"
	env LD_PRELOAD="$shim" HOLTER="$1" "$storm" <"$dir/pipe" >"$dir/out" 2>"$dir/err" &
	pid=$!
	exec 9>"$dir/pipe"
	wait_for grep -q ready "$dir/out"
}
stop()
{
	exec 9>&-
	wait "$pid"
	[ ! -s "$dir/err" ] || { cat "$dir/err"; return 1; }
}
gone() { ! compgen -G "/dev/shm/holter-$1-*"; }
dumps() { find "$dir" -name 'holter-*.jfr*' | wc -l; }
has_dumps() { [ "$(dumps)" -ge "$1" ]; }
verify_all()
{
	local file

	find "$dir" -name '*.jfr*' | while IFS= read -r file; do
		"$holter" verify "$file" || { echo "verify: $file"; exit 1; }
	done
}

everything=settings=everything,alloc=all,memory=2M

many_dumps()
{
	local i

	start "dir=$dir,$everything"
	for i in 1 2 3 4 5 6 7 8 9 10; do
		"$holter" dump $pid -o "$dir/dump$i.jfr"
		[ -s "$dir/dump$i.jfr" ]
	done
	"$holter" dump $pid
	stop
	verify_all
	! command -v jfr || jfr summary "$dir/dump10.jfr" | grep profiler.Malloc
	wait_for gone $pid
}

signal_flood()
{
	local i

	start "dir=$dir,$everything"
	for i in $(seq 200); do
		kill -USR2 $pid
		sleep 0.005
	done
	wait_for has_dumps 1
	stop
	wait_for gone $pid
	has_dumps 1
	[ -z "$(find "$dir" -name '.*' -type f)" ] # nothing half written
	verify_all
}

idle_process()
{
	local i

	env LD_PRELOAD="$shim" HOLTER="dir=$dir" sleep 300 &
	pid=$!
	wait_for compgen -G "/dev/shm/holter-$pid-*"
	for i in 1 2 3; do "$holter" dump $pid -o "$dir/idle$i.jfr.lz4"; done
	kill $pid
	wait $pid || [ $? = 143 ]
	verify_all
}

leader_killed()
{
	local leader

	start "dir=$dir,$everything,leader=process"
	kill -USR2 $pid
	wait_for has_dumps 1
	leader=$(pgrep -f "holter leader /dev/shm/holter-$pid-")
	kill -KILL "$leader"
	"$holter" dump $pid -o "$dir/orphan.jfr" # nobody else is needed for this
	kill -USR2 $pid
	wait_for has_dumps 2
	stop
	verify_all
}

folder_is_made()
{
	start "dir=$dir/a/b/c,$everything"
	kill -USR2 $pid
	wait_for compgen -G "$dir/a/b/c/holter-storm-*.jfr.lz4"
	stop
	verify_all
}

folder_cannot_be_written()
{
	start "dir=/proc/nowhere,$everything"
	kill -USR2 $pid
	wait_for compgen -G "/tmp/holter-storm-$pid-*.jfr.lz4"
	mv /tmp/holter-storm-$pid-*.jfr.lz4 "$dir/"
	if "$holter" dump $pid -o /proc/nowhere/x.jfr; then return 1; fi
	stop
	verify_all
}

may_mount()
{
	if [ "$(id -u)" != 0 ] || ! unshare -m true; then
		echo 'mounting needs root'
		exit 77
	fi
}

disk_full()
{
	may_mount
	export dir holter storm shim
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -ec 'mkdir "$dir/small"; mount -t tmpfs -o size=64k none "$dir/small"
		mkfifo "$dir/pipe"
		env LD_PRELOAD="$shim" HOLTER="dir=$dir/small,settings=everything,alloc=all" "$storm" <"$dir/pipe" >"$dir/out" &
		pid=$!
		exec 9>"$dir/pipe"
		while ! grep -q ready "$dir/out"; do sleep 0.05; done
		sleep 0.5
		if "$holter" dump $pid -o "$dir/small/x.jfr"; then echo "fitted?"; exit 1; fi
		kill -USR2 $pid
		sleep 0.5
		[ -z "$(ls -A "$dir/small")" ] || { ls -la "$dir/small"; exit 1; }
		"$holter" dump $pid -o "$dir/elsewhere.jfr"
		exec 9>&-
		wait $pid'
	verify_all
}

shared_memory_full()
{
	may_mount
	export dir shim storm
	# shellcheck disable=SC2016 # for the inner shell
	unshare -m bash -ec 'mount -t tmpfs -o size=300k none /dev/shm
		env LD_PRELOAD="$shim" HOLTER="dir=$dir,settings=everything,alloc=all" "$storm" </dev/null'
	# shellcheck disable=SC2016
	unshare -m bash -ec 'mount -t tmpfs -o size=4k none /dev/shm
		env LD_PRELOAD="$shim" HOLTER="dir=$dir,settings=everything,alloc=all" "$storm" </dev/null'
}

bare_preload()
{
	local out

	out=$(env -i LD_PRELOAD="$shim" /bin/sh -c 'echo hello' 2>&1)
	[ "$out" = hello ]
	out=$(env -i LD_PRELOAD="$shim" HOLTER='nonsense=1,settings=' /bin/echo hello 2>&1)
	[ "$out" = hello ]
}

twice_preloaded()
{
	cp "$shim" "$dir/other.so"
	[ "$(LD_PRELOAD="$shim $dir/other.so" HOLTER="dir=$dir" /bin/echo hello 2>&1)" = hello ]
}

descriptors_at_their_limit()
{
	(ulimit -n 16 && LD_PRELOAD=$shim HOLTER="dir=$dir,dumponexit=yes,settings=everything" /bin/true)
	wait_for has_dumps 1
	verify_all
}

# Beyond the limit the kernel sends SIGXFSZ: the region's file must not be grown into it.
file_size_limited()
{
	(ulimit -S -f 100 && [ "$(LD_PRELOAD=$shim HOLTER="dir=$dir" bash -c 'ulimit -f')" = 100 ])
	(ulimit -f 100 && [ "$(LD_PRELOAD=$shim HOLTER="dir=$dir" /bin/echo hello 2>&1)" = hello ])
}

# Handlers and thread ends of the shim are met after it was closed.
loaded_late_and_closed()
{
	HOLTER="dir=$dir,settings=everything" "${PYTHON:-/usr/bin/python3}" - "$shim" <<-'END'
		import ctypes, _ctypes, os, signal, sys, threading
		shim = ctypes.CDLL(sys.argv[1])
		_ctypes.dlclose(shim._handle)
		for _ in range(3):
		    thread = threading.Thread(target=bytes, args=(100,))
		    thread.start()
		    thread.join()
		os.kill(os.getpid(), signal.SIGUSR2)
	END
}

if [ ! -x "$holter" ] || [ ! -f "$shim" ] || [ ! -x "$storm" ]; then
	echo "FAIL $holter, $shim or $storm is missing"
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi
verdict 'many dumps in a row, at full speed' many_dumps
verdict 'a flood of signals' signal_flood
verdict 'dumps of an idle process' idle_process
verdict 'the leader is killed' leader_killed
verdict 'a missing folder is made' folder_is_made
verdict 'a folder that cannot be written' folder_cannot_be_written
verdict 'the disk is full' disk_full
verdict '/dev/shm is full' shared_memory_full
verdict 'preloaded without settings, with wrong ones' bare_preload
verdict 'preloaded twice' twice_preloaded
verdict 'few descriptors allowed' descriptors_at_their_limit
verdict 'small files allowed' file_size_limited
verdict 'loaded late and closed' loaded_late_and_closed
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
