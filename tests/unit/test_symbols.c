/*
 * Symbols: own functions with inlined ones and lines, libc's exported ones, separate debug files,
 * wrong build-ids, names of several languages.
 */
#include <check.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "reader/analysis/symbols.h"

static struct rdr_symbols *set;
static struct rdr_symbol found[8];
static uintptr_t call_site;
static char self[4096];

static __attribute__((noinline)) void leaf(void)
{
	call_site = (uintptr_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) void inlined_middle(void)
{
	leaf();
	__asm__ volatile("");
}

static __attribute__((noinline)) void outer_function(void)
{
	inlined_middle();
	__asm__ volatile("");
}

/* Load bias of the object that holds an address, its build-id and path. */
struct object {
	uintptr_t address, bias;
	char build_id[80];
	char path[4096];
};

static void note_id(const struct dl_phdr_info *info, const ElfW(Phdr) * header, char *text)
{
	const char *at = (const char *)(info->dlpi_addr + header->p_vaddr);
	const char *end = at + header->p_memsz;

	while (at + sizeof(ElfW(Nhdr)) < end) {
		const ElfW(Nhdr) *note = (const void *)at;
		const unsigned char *id =
			(const unsigned char *)at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);

		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4)
			for (unsigned i = 0; i < note->n_descsz; i++)
				sprintf(text + 2 * i, "%02x", id[i]);
		at = (const char *)id + ((note->n_descsz + 3) & ~3u);
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
	struct object *object = context;
	int is_it = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];

		if (header->p_type == PT_LOAD &&
		    object->address - info->dlpi_addr - header->p_vaddr < header->p_memsz)
			is_it = 1;
	}
	for (int i = 0; is_it && i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			note_id(info, &info->dlpi_phdr[i], object->build_id);
	if (is_it) {
		object->bias = info->dlpi_addr;
		snprintf(object->path, sizeof(object->path), "%s",
			 info->dlpi_name[0] ? info->dlpi_name : self);
	}
	return is_it;
}

static struct object object_of(uintptr_t address)
{
	struct object object = { .address = address };

	ck_assert_int_eq(dl_iterate_phdr(look, &object), 1);
	return object;
}

static void setup(void)
{
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	ck_assert_int_gt(length, 0);
	self[length] = 0;
	set = rdr_symbols_create();
	ck_assert_ptr_nonnull(set);
}

static void teardown(void)
{
	rdr_symbols_destroy(set);
}

START_TEST(own_functions_with_what_is_inlined)
{
	struct object object;
	int count;

	outer_function();
	object = object_of(call_site);
	for (int round = 0; round < 2; round++) {
		count = rdr_symbols_resolve(set, object.path, object.build_id,
					    call_site - 1 - object.bias, found, 8);
		ck_assert_int_eq(count, 2);
		ck_assert_str_eq(found[0].name, "inlined_middle");
		ck_assert_int_eq(found[0].is_inlined, 1);
		ck_assert_str_eq(found[1].name, "outer_function");
		ck_assert_int_eq(found[1].is_inlined, 0);
		ck_assert_int_gt(found[0].line, 20);
		ck_assert_int_gt(found[1].line, found[0].line);
		ck_assert_int_eq(found[0].is_cplusplus, 0);
	}
	/* Room for one only. */
	ck_assert_int_eq(rdr_symbols_resolve(set, object.path, object.build_id,
					     call_site - 1 - object.bias, found, 1),
			 1);
}
END_TEST

START_TEST(functions_of_libc)
{
	struct object object = object_of((uintptr_t)&qsort);

	ck_assert_int_ge(rdr_symbols_resolve(set, object.path, object.build_id,
					     (uintptr_t)&qsort + 4 - object.bias, found, 8),
			 1);
	ck_assert_msg(strstr(found[0].name, "qsort") != NULL, "%s", found[0].name);
	object = object_of((uintptr_t)&read);
	ck_assert_int_ge(rdr_symbols_resolve(set, object.path, object.build_id,
					     (uintptr_t)&read + 4 - object.bias, found, 8),
			 1);
	ck_assert_msg(strstr(found[0].name, "read") != NULL, "%s", found[0].name);
}
END_TEST

START_TEST(another_build_id_gives_no_names)
{
	struct object object = object_of((uintptr_t)&outer_function);
	uint64_t address = (uintptr_t)&outer_function + 1 - object.bias;

	object.build_id[0] = object.build_id[0] == '0' ? '1' : '0';
	ck_assert_int_eq(rdr_symbols_resolve(set, object.path, object.build_id, address, found, 8),
			 0);
	ck_assert_int_ge(rdr_symbols_resolve(set, object.path, "", address, found, 8), 1);
	ck_assert_int_ge(rdr_symbols_resolve(set, object.path, NULL, address, found, 8), 1);
}
END_TEST

START_TEST(nothing_where_nothing_is)
{
	ck_assert_int_eq(rdr_symbols_resolve(set, "/nonexistent", "", 16, found, 8), 0);
	ck_assert_int_eq(rdr_symbols_resolve(set, "[vdso]", "", 16, found, 8), 0);
	ck_assert_int_eq(rdr_symbols_resolve(set, "/etc/passwd", "", 16, found, 8), 0);
	ck_assert_int_eq(rdr_symbols_resolve(set, self, "", 1ull << 40, found, 8), 0);
	ck_assert_int_eq(rdr_symbols_resolve(set, self, "../../etc", 0, found, 8), 0);
}
END_TEST

static char copy[64];

/* A copy of this program changed by a shell command that gets its name as $1. */
static void make_copy(const char *command)
{
	char line[8192];

	strcpy(copy, "/tmp/test_symbols_XXXXXX");
	close(mkstemp(copy));
	snprintf(line, sizeof(line), "cp '%s' '%s' && set -- '%s' && %s", self, copy, copy,
		 command);
	ck_assert_int_eq(system(line), 0);
}

static int resolve_in_copy(uintptr_t address)
{
	struct object object = object_of(address);
	int count =
		rdr_symbols_resolve(set, copy, object.build_id, address - object.bias, found, 8);

	return count;
}

START_TEST(without_debug_information_the_symbol_table_names)
{
	outer_function();
	make_copy("strip -g $1");
	ck_assert_int_eq(resolve_in_copy(call_site - 1), 1);
	ck_assert_str_eq(found[0].name, "outer_function");
	ck_assert_int_eq(found[0].line, -1);
	unlink(copy);
}
END_TEST

START_TEST(stripped_gives_no_name_of_a_neighbour)
{
	outer_function();
	make_copy("strip $1");
	ck_assert_int_eq(resolve_in_copy(call_site - 1), 0);
	unlink(copy);
}
END_TEST

START_TEST(separate_debug_file_by_its_link)
{
	outer_function();
	make_copy("d=$(dirname $1)/.debug && mkdir -p $d && objcopy --only-keep-debug $1 "
		  "$d/$(basename $1).debug && strip $1 && objcopy --add-gnu-debuglink="
		  "$d/$(basename $1).debug $1");
	ck_assert_int_eq(resolve_in_copy(call_site - 1), 2);
	ck_assert_str_eq(found[0].name, "inlined_middle");
	ck_assert_str_eq(found[1].name, "outer_function");
	make_copy("rm -rf $(dirname $1)/.debug");
	unlink(copy);
}
END_TEST

static const struct {
	const char *raw, *name, *parameters;
	int is_cplusplus;
} names[] = {
	{ "main", "main", "", 0 },
	{ "memcpy@@GLIBC_2.14", "memcpy", "", 0 },
	{ "parse.constprop.0", "parse", "", 0 },
	{ "parse.part.3.cold", "parse", "", 0 },
	{ "_ZN3foo3barEiPKc", "foo::bar", "int, char const*", 1 },
	{ "_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back",
	  "int const&", 1 },
	{ "_Z3runIiEvT_", "run<int>", "int", 1 },
	{ "_ZN3foo3barEv.cold", "foo::bar", "", 1 },
	{ "_RNvC7mycrate3foo", "mycrate::foo", "", 1 },
	{ "_Znwm", "operator new", "unsigned long", 1 },
	{ "_ZN1XclEi", "X::operator()", "int", 1 },
	{ "_Zbroken", "_Zbroken", "", 0 },
	{ "", "", "", 0 },
};

START_TEST(names_are_demangled)
{
	memset(found, 0x55, sizeof(found));
	rdr_symbols_demangle(names[_i].raw, &found[0]);
	ck_assert_str_eq(found[0].name, names[_i].name);
	ck_assert_str_eq(found[0].parameters, names[_i].parameters);
	ck_assert_int_eq(found[0].is_cplusplus, names[_i].is_cplusplus);
}
END_TEST

START_TEST(long_names_are_cut)
{
	char raw[3000];

	memset(raw, 'a', sizeof(raw));
	raw[sizeof(raw) - 1] = 0;
	rdr_symbols_demangle(raw, &found[0]);
	ck_assert_uint_eq(strlen(found[0].name), RDR_SYMBOL_BYTES - 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("symbols");
	TCase *tests = tcase_create("symbols");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 60);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, own_functions_with_what_is_inlined);
	tcase_add_test(tests, functions_of_libc);
	tcase_add_test(tests, another_build_id_gives_no_names);
	tcase_add_test(tests, nothing_where_nothing_is);
	tcase_add_test(tests, without_debug_information_the_symbol_table_names);
	tcase_add_test(tests, stripped_gives_no_name_of_a_neighbour);
	tcase_add_test(tests, separate_debug_file_by_its_link);
	tcase_add_loop_test(tests, names_are_demangled, 0, sizeof(names) / sizeof(names[0]));
	tcase_add_test(tests, long_names_are_cut);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
