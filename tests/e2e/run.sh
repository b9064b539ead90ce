#!/usr/bin/env bash
# Runs the end-to-end cases: a program that tells the truth about itself, bare and recorded.
#
#   O=build/release JOBS=2 tests/e2e/run.sh [GLOB]
#
# In: cases.txt. Each case runs its program bare and under the recorder (same output, same exit status),
# has it dumped in the case's way, lets `jfr` of a JDK and `holter` read the dump, compares what the two
# read with each other and with the truth (judge.py). Out: failures with their reasons, then
# `N passed, N failed, N skipped`; files of a failed case stay in $O/e2e/work/NAME.
set -u
export LC_ALL=C
here=tests/e2e
glob=${1:-*}
O=${O:-build/release}
PYTHON=${PYTHON:-/usr/bin/python3}
work=$PWD/$O/e2e/work
shim=$PWD/$O/libholter.so
holter=$PWD/$O/holter
mkdir -p "$work"
if [ ! -x "$holter" ] || [ ! -f "$shim" ]; then
	echo "FAIL $holter or $shim is missing: run make"
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
fi

# One case: its files are in the working folder $dir.
#   complain TEXT   marks it as failed
complain()
{
	echo "    $*" >>"$dir/verdict"
}

option()
{
	sed -nE "s/(^|.* )$1=([^ ]*).*/\2/p" <<<"$options"
}

# Waits for a condition, up to a bound that only a failure reaches.
wait_for()
{
	local i

	for ((i = 0; i < 400; i++)); do
		"$@" && return
		sleep 0.05
	done
	return 1
}
is_ready() { grep -qs '^ready$' "$1" || ! kill -0 "$pid" 2>/dev/null; }
has_dump() { compgen -G "$dir/out/*.jfr*" >/dev/null && ! compgen -G "$dir/out/*.part" >/dev/null; }
is_gone() { ! compgen -G "/dev/shm/holter-$pid-*" >/dev/null; }

# Starts the program with stdin a pipe (fd 9), stdout and stderr in files named by $1.
# Sets pid. The rest of the arguments is the command.
start()
{
	local tag=$1

	shift
	rm -f "$dir/pipe"
	mkfifo "$dir/pipe"
	"$@" <"$dir/pipe" >"$dir/$tag.out" 2>"$dir/$tag.err" 9>&- &
	pid=$!
	# A program that hangs is killed, and then fails for its exit status.
	(sleep "${CASE_TIMEOUT:-120}" && kill -KILL "$pid") <&- >&- 2>&- &
	watchdog=$!
	exec 9>"$dir/pipe"
}

finish()
{
	local status

	exec 9>&-
	wait "$pid" 2>/dev/null
	status=$?
	pkill -P "$watchdog" 2>/dev/null
	kill "$watchdog" 2>/dev/null
	wait "$watchdog" 2>/dev/null
	return $status
}

run_bare()
{
	local status

	start bare "$program" "${arguments[@]}"
	[ "$dump" = exit ] || [ "$dump" = run ] || [ "$dump" = none ] || wait_for is_ready "$dir/bare.out"
	finish
	status=$?
	echo $status >"$dir/bare.status"
}

# Asks for the dump in the case's way, while the program waits.
dump_now()
{
	wait_for is_ready "$dir/recorded.out" || complain 'the program never became ready'
	case $dump in
	usr2)
		kill -USR2 "$pid"
		wait_for has_dump || complain 'no dump after SIGUSR2'
		;;
	cli) "$holter" dump "$pid" -o "$dir/out/dump.jfr" >"$dir/cli.out" 2>&1 ||
		complain "holter dump failed: $(cat "$dir/cli.out")" ;;
	kill9)
		kill -KILL "$pid"
		wait "$pid" 2>/dev/null
		"$holter" recover "$pid" >"$dir/cli.out" 2>&1 ||
			complain "holter recover failed: $(cat "$dir/cli.out")"
		wait_for has_dump || complain "no dump after holter recover: $(cat "$dir/cli.out")"
		;;
	run-kill9)
		kill -KILL "$pid"
		wait_for has_dump || complain 'no dump after the program was killed'
		;;
	esac
}

run_recorded()
{
	local configuration="dir=$dir/out" status command

	[ -z "$settings" ] || configuration+=",$settings"
	case $dump in
	exit | run) configuration+=,dumponexit=true ;;
	esac
	# env sets the variables for the program alone and then becomes it: the pid is the program's.
	case $dump in
	run | run-kill9)
		command=("$holter" run)
		while IFS= read -r pair; do command+=(-o "$pair"); done < <(tr , '\n' <<<"$configuration")
		command+=(--)
		start recorded "${command[@]}" "$program" "${arguments[@]}"
		;;
	*) start recorded env LD_PRELOAD="$shim" HOLTER="$configuration" "$program" "${arguments[@]}" ;;
	esac
	case $dump in
	exit | run | none) ;;
	*) dump_now ;;
	esac
	finish
	status=$?
	echo $status >"$dir/recorded.status"
	case $dump in
	exit | run) wait_for has_dump || complain 'no dump at exit' ;;
	esac
	wait_for is_gone || complain "region left behind: $(compgen -G "/dev/shm/holter-$pid-*")"
}

same_behaviour()
{
	local wanted

	wanted=$(option status)
	[ -n "$wanted" ] || wanted=$(cat "$dir/bare.status")
	case $dump in
	kill9 | run-kill9) wanted=137 ;;
	esac
	[ "$(cat "$dir/recorded.status")" = "$wanted" ] ||
		complain "exit status $(cat "$dir/recorded.status"), bare $wanted: $(head -c 300 "$dir/recorded.err")"
	diff <(grep -vE '^(expect|allow)' "$dir/bare.out") <(grep -vE '^(expect|allow)' "$dir/recorded.out") \
		>"$dir/diff" || complain "other output: $(head -n 5 "$dir/diff")"
	diff "$dir/bare.err" "$dir/recorded.err" >"$dir/diff" ||
		complain "other error output: $(head -n 5 "$dir/diff")"
}

# Both readers on one dump; leaves $1.jdk.json and $1.our.json.
read_dump()
{
	local file=$1 plain=${1%.lz4}

	if [ "$plain" != "$file" ]; then
		lz4 -tq "$file" 2>>"$dir/lz4.err" || complain "lz4 refuses $file: $(cat "$dir/lz4.err")"
		lz4 -dqf "$file" "$plain" 2>>"$dir/lz4.err"
	fi
	"$holter" print --json --stack-depth 200 "$file" >"$plain.our.json" 2>"$dir/holter.err" ||
		complain "holter print failed on $file: $(head -n 3 "$dir/holter.err")"
	"$holter" verify "$file" >"$dir/verify.out" 2>&1 ||
		complain "holter verify: $(head -n 3 "$dir/verify.out")"
	command -v jfr >/dev/null || return 0
	jfr print --json --stack-depth 200 "$plain" >"$plain.jdk.json" 2>"$dir/jfr.err" ||
		complain "jfr print failed on $plain: $(head -n 3 "$dir/jfr.err")"
	jfr summary "$plain" >"$dir/jfr.summary" 2>&1 || complain "jfr summary failed: $(head -n 3 "$dir/jfr.summary")"
	"$holter" summary "$file" >"$dir/our.summary" 2>&1 ||
		complain "holter summary failed: $(head -n 3 "$dir/our.summary")"
	# Types that occur, with count and bytes, must agree.
	diff <(awk 'NF == 3 && $2 > 0 && $1 ~ /\./ { print $1, $2, $3 }' "$dir/jfr.summary" | sort) \
		<(awk 'NF == 3 && $2 > 0 && $1 ~ /\./ { print $1, $2, $3 }' "$dir/our.summary" | sort) >"$dir/diff" ||
		complain "summaries differ: $(head -n 5 "$dir/diff")"
	"$PYTHON" $here/judge.py --same "$plain.jdk.json" "$plain.our.json" >>"$dir/verdict"
}

# Every dump must be readable; the truth is asked of the newest, which holds all that the ring held.
judge_dumps()
{
	local file newest=

	for file in "$dir"/out/*.jfr "$dir"/out/*.jfr.lz4; do
		if [ ! -f "$file" ] || [ -f "${file%.lz4}.our.json" ]; then continue; fi
		read_dump "$file"
		[ "$newest" -nt "$file" ] || newest=$file
	done
	grep -q "^expect" "$dir/recorded.out" || return 0
	if [ -z "$newest" ]; then return 0; fi
	"$PYTHON" $here/judge.py "$dir/recorded.out" "${newest%.lz4}.our.json" >>"$dir/verdict" 2>&1
	command -v jfr >/dev/null || return 0
	"$PYTHON" $here/judge.py "$dir/recorded.out" "${newest%.lz4}.jdk.json" >>"$dir/verdict" 2>&1
}

run_case()
{
	local name=$1 program=$2 settings=$3 dump=$4 options=$5 dir=$work/$1 pid=0 watchdog=0
	local arguments=()

	IFS=, read -ra arguments <<<"$(option args)"
	[ -z "$(option env)" ] || export "${options##*env=}"
	rm -rf "$dir"
	mkdir -p "$dir/out"
	: >"$dir/verdict"
	if [ ! -x "$program" ]; then
		complain "the program $program was not built"
	else
		run_bare
		run_recorded
		same_behaviour
		[ "$dump" = none ] || judge_dumps
	fi
	if [ -s "$dir/verdict" ]; then
		echo "FAIL $name" >"$dir/result"
		head -n 30 "$dir/verdict" >>"$dir/result"
	else
		echo "ok $name" >"$dir/result"
		[ -n "${KEEP:-}" ] || rm -rf "$dir/out"
	fi
	cat "$dir/result"
}

passed=0 failed=0 skipped=0
if ! command -v jfr >/dev/null; then
	echo 'SKIP jfr of a JDK is not installed: its view of every dump'
	skipped=$((skipped + 1))
fi
awk -v out="$O/e2e" -v mode=cases -f $here/cases.awk $here/cases.txt >"$work/cases" || {
	echo 'FAIL cases.txt'
	echo '0 passed, 1 failed, 0 skipped'
	exit 1
}
running=0 names=()
while IFS='|' read -r name program settings dump options; do
	# shellcheck disable=SC2053 # a glob
	[[ $name == $glob ]] || continue
	names+=("$name")
	rm -f "$work/$name/result"
	run_case "$name" "$PWD/$program" "$settings" "$dump" "$options" </dev/null &
	running=$((running + 1))
	if [ $running -ge "${JOBS:-2}" ]; then
		wait -n 2>/dev/null
		running=$((running - 1))
	fi
done <"$work/cases"
wait
for name in "${names[@]}"; do
	if grep -q '^ok' "$work/$name/result" 2>/dev/null; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed != 0 ]
