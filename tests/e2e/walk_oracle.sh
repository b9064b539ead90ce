#!/usr/bin/env bash
# The walker against libunwind inside real programs, most of them built without frame pointers.
#
#   O=build/release tests/e2e/walk_oracle.sh
#
# In: walk_oracle.c, linked with the recorder's own objects, preloaded into each program below: at every
# Nth malloc, or at random instructions (WALK_CPU_US), it compares frame by frame. Out: what differs, then
# `N passed, N failed, N skipped`; a program that is not installed is skipped.
set -u
export LC_ALL=C
O=${O:-build/release}
PYTHON=${PYTHON:-/usr/bin/python3}
work=$PWD/$O/e2e/walk_oracle
oracle=$work/walk_oracle.so
passed=0 failed=0 skipped=0
rm -rf "$work"
mkdir -p "$work"

summary()
{
	echo "$passed passed, $failed failed, $skipped skipped"
	[ $failed = 0 ]
	exit
}

build()
{
	local objects

	mapfile -t objects < <(ls "$O"/shim/recorder/{base,format,sys,region,capture}/*.o 2>/dev/null)
	[ "${#objects[@]}" != 0 ] &&
		${CC:-gcc} -std=gnu11 -O2 -g -I. -D_GNU_SOURCE -fPIC -fvisibility=hidden \
			-fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -ftls-model=initial-exec \
			-shared -o "$oracle" tests/e2e/walk_oracle.c "${objects[@]}" -lunwind -ldl
}

# judge NAME CAPTURES: the results in $work/NAME hold no difference and at least so many captures.
judge()
{
	local name=$1 least=$2 captures bad

	captures=$(sed -nE 's/.*: captures ([0-9]+) .*/\1/p' "$work/$name" | awk '{ n += $1 } END { print n + 0 }')
	bad=$(grep -E ': captures ' "$work/$name" | grep -cvE ' different 0 .* capture-different 0$')
	if [ "$bad" = 0 ] && [ "$captures" -ge "$least" ]; then
		passed=$((passed + 1))
		return
	fi
	failed=$((failed + 1))
	echo "FAIL $name: $captures captures, $least wanted; processes with differences: $bad"
	head -n 60 "$work/$name"
}

# compare NAME CAPTURES VARIABLE=N COMMAND...
compare()
{
	local name=$1 least=$2 how=$3

	shift 3
	if ! command -v "$1" >/dev/null; then
		echo "SKIP $name: $1 is not installed"
		skipped=$((skipped + 1))
		return
	fi
	: >"$work/$name"
	(cd "$work" && env "$how" WALK_OUT="$work/$name" LD_PRELOAD="$oracle" timeout 120 "$@") \
		>"$work/$name.out" 2>&1 </dev/null
	judge "$name" "$least"
}

build || {
	echo "FAIL walk_oracle.so cannot be built: run make"
	failed=1
	summary
}

python_work='import json, re, sqlite3, decimal, threading
def work():
    for i in range(60): json.loads(json.dumps({"a": [1, 2, {"b": i}] * 9}))
    c = sqlite3.connect(":memory:")
    c.execute("create table t(a)")
    c.executemany("insert into t values(?)", [(i,) for i in range(300)])
threads = [threading.Thread(target=work) for i in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
re.compile("a(b|c)*d" * 20)'
# shellcheck disable=SC2016 # Perl expands these
perl_work='my %h; for (1..20000) { $h{$_} = "x" x ($_ % 100); } print scalar sort { $h{$a} cmp $h{$b} } keys %h'
sql_work='create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 30000)
insert into t select x, hex(randomblob(20)) from c; select count(*), max(b) from t group by a % 7;
select * from t order by b limit 5'

compare python3 200 WALK_EVERY=7 "$PYTHON" -c "$python_work"
compare python3_snapshot 200 WALK_EVERY=7 env WALK_SNAPSHOT=1 "$PYTHON" -c "$python_work"
compare gcc 3000 WALK_EVERY=11 gcc -O2 -I"$PWD" -D_GNU_SOURCE -c -o cfi_parse.o \
	"$PWD/recorder/capture/cfi_parse.c"
compare perl 1000 WALK_EVERY=11 perl -e "$perl_work"
compare sqlite3 500 WALK_EVERY=7 sqlite3 :memory: "$sql_work"
# shellcheck disable=SC2016 # the shell under test expands it
compare shell 100 WALK_EVERY=3 bash -c 'for i in 1 2 3; do echo $i | sed s/1/2/; done'
compare redis-server 1000 WALK_EVERY=1 redis-server --version
compare cpu_gcc 3 WALK_CPU_US=1000 gcc -O2 -I"$PWD" -D_GNU_SOURCE -c -o stackwalk.o \
	"$PWD/recorder/capture/stackwalk.c"
compare cpu_perl 3 WALK_CPU_US=1000 perl -e "${perl_work/20000/300000}"
compare cpu_sqlite3 3 WALK_CPU_US=1000 sqlite3 :memory: "${sql_work/30000/300000}"
compare cpu_python3 1 WALK_CPU_US=1000 "$PYTHON" -c "$python_work"
summary
