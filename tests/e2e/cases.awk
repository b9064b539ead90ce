# Reads cases.txt: checks its form and says which programs are to be built, and how.
#
#   awk -v out=build/release/e2e -v mode=make|cases -f cases.awk cases.txt
#
# make: rules, one per program, and E2E_PROGRAMS. cases: one line per case for run.sh, fields separated
# by '|': name, program, settings, dump, options. Cases with equal source and flags share a program,
# named after the source; further flags give NAME.2, NAME.3.
BEGIN { FS = "|" }
/^[ \t]*(#|$)/ { next }
function trim(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }
function bad(text) { printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"; failed = 1; exit 1 }
NF != 5 { bad("a case has 5 fields separated by '|'") }
{
	name = trim($1); build = trim($2); settings = trim($3); dump = trim($4); options = trim($5)
	if (name in seen)
		bad("the name " name " occurs twice")
	seen[name] = 1
	if (dump !~ /^(exit|usr2|cli|kill9|run|run-kill9|none)$/)
		bad("unknown way to dump: " dump)
	source = build; sub(/ .*/, "", source)
	flags = build; if (!sub(/^[^ ]+ +/, "", flags)) flags = ""
	base = source; sub(/\.[a-zA-Z]+$/, "", base)
	key = source " " flags
	if (!(key in program)) {
		used[base]++
		program[key] = out "/" base (used[base] > 1 ? "." used[base] : "")
		order[++programs] = key
		src[key] = source; flg[key] = flags
	}
	if (mode == "cases")
		printf "%s|%s|%s|%s|%s\n", name, program[key], settings, dump, options
}
END {
	if (failed)
		exit 1
	if (mode != "make")
		exit 0
	printf "E2E_PROGRAMS :="
	for (i = 1; i <= programs; i++)
		printf " \\\n\t%s", program[order[i]]
	printf "\n"
	for (i = 1; i <= programs; i++) {
		key = order[i]
		compiler = src[key] ~ /\.cc$/ ? "$(CXX_TARGETS) -std=gnu++17" : "$(CC) -std=gnu11"
		printf "%s: tests/e2e/targets/%s tests/e2e/targets/truth.h\n", program[key], src[key]
		printf "\t@mkdir -p $(@D)\n"
		printf "\t%s -g -Wall -Wextra -D_GNU_SOURCE -I. %s -o $@ $< -lpthread -ldl\n", compiler, flg[key]
	}
}
