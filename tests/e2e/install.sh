#!/usr/bin/env bash
# Installs into a scratch folder and uses what is there, as a packager and a user would.
#
#   O=build/release MAKE=make CC=gcc tests/e2e/install.sh
#
# Out: a line per test, then `N passed, N failed, N skipped`.
set -u
export LC_ALL=C
root=$(mktemp -d "${TMPDIR:-/tmp}/holter-install.XXXXXX")
trap 'rm -rf "$root"' EXIT
prefix=/opt/holter
passed=0 failed=0 skipped=0

verdict()
{
	local name=$1

	shift
	if "$@" >"$root/log" 2>&1; then
		passed=$((passed + 1))
		echo "ok $name"
	else
		failed=$((failed + 1))
		echo "FAIL $name"
		head -n 20 "$root/log" | sed 's/^/    /'
	fi
}

has_files()
{
	local file

	for file in bin/holter lib/libholter.so lib/libholter_reader.so lib/libholter_reader.so.0 \
		lib/libholter_reader.a include/holter.h include/holter_reader.h include/holter_error.h \
		lib/pkgconfig/holter.pc lib/pkgconfig/holter_reader.pc share/man/man1/holter.1 \
		share/man/man1/holter-run.1 share/man/man5/holter-format.5 share/man/man7/holter-events.7 \
		share/man/man7/holter-settings.7 share/bash-completion/completions/holter; do
		[ -s "$there/$file" ] || echo "missing: $file"
	done | grep . && return 1
	return 0
}

# The installed command finds the installed library beside it, from another folder.
runs_installed()
{
	(cd / && "$there/bin/holter" run --dir "$root/out" -o dumponexit=yes -- /bin/true) &&
		compgen -G "$root/out/holter-true-*.jfr.lz4" >/dev/null &&
		"$there/bin/holter" summary "$root"/out/holter-true-*.jfr.lz4 | grep -q jdk.JVMInformation
}

compile_with_pkg_config()
{
	local flags

	export PKG_CONFIG_PATH=$there/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root
	cat >"$root/use.c" <<'END'
#include <holter_reader.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct holter_reader *reader;
	const struct holter_event *event;
	unsigned long count = 0;
	int code = argc == 2 ? holter_reader_open(argv[1], NULL, &reader, NULL) : HOLTER_E_ARGUMENT;

	while (code == 0 && holter_reader_next(reader, &event) > 0)
		count++;
	printf("%lu\n", count);
	return count == 0;
}
END
	flags=$(pkg-config --cflags --libs holter_reader) || return 1
	# shellcheck disable=SC2086 # words
	$CC -Wall -Werror -o "$root/use" "$root/use.c" $flags &&
		LD_LIBRARY_PATH=$there/lib "$root/use" "$(compgen -G "$root/out/*.jfr.lz4" | head -n 1)" &&
		flags=$(pkg-config --cflags --libs --static holter_reader | sed 's/-lholter_reader/-l:libholter_reader.a/') &&
		$CC -Wall -Werror -o "$root/use_static" "$root/use.c" $flags &&
		"$root/use_static" "$(compgen -G "$root/out/*.jfr.lz4" | head -n 1)"
}

compile_api()
{
	local flags

	echo '#include <holter.h>
int main(void) { return 0; }' >"$root/api.c"
	cp "$root/api.c" "$root/api.cc"
	flags=$(pkg-config --cflags --libs holter) || return 1
	# shellcheck disable=SC2086 # words
	$CC -Wall -Werror -o "$root/api" "$root/api.c" $flags && "$root/api" &&
		g++ -Wall -Werror -o "$root/api" "$root/api.cc" $flags && "$root/api"
}

pages_open()
{
	local page

	for page in "$there"/share/man/man?/*; do
		man -l "$page" 2>&1 >/dev/null | grep . && return 1
	done
	return 0
}

uninstalls()
{
	"$MAKE" --no-print-directory uninstall DESTDIR="$root" PREFIX=$prefix &&
		! find "$there" -type f -o -type l | grep .
}

there=$root$prefix
verdict 'make install' "$MAKE" --no-print-directory install DESTDIR="$root" PREFIX=$prefix
verdict 'every file is there' has_files
verdict 'the installed command records' runs_installed
verdict 'a program uses the reader library, by pkg-config' compile_with_pkg_config
verdict 'a program uses holter.h, C and C++' compile_api
if command -v man >/dev/null; then
	verdict 'manual pages open' pages_open
else
	skipped=$((skipped + 1))
	echo 'SKIP manual pages open: man is not installed'
fi
verdict 'make uninstall leaves nothing' uninstalls
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
