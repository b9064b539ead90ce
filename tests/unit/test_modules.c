/*
 * Which objects the shim enters: all loaded ones with path, extent and build-id; new ones after
 * dlopen, gone ones after dlclose; by address without a scan. On the source itself, with a region.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The files under test: the shim is no library that a test could link. */
#include "preload/executable.c"
#include "preload/modules.c"
#include "preload/scratch.c"

static void setup(void)
{
	struct rec_region region;

	ck_assert_int_eq(rec_region_create(&region, REC_MEMORY_MIN, (uint32_t)getpid(), 1), 0);
	region.header->children = 1;
	unlink(region.header->path);
	ck_assert_int_eq(rec_process_attach(&region), 0);
	ck_assert_uint_ne(rec_process_forked(), REC_NONE);
}

static uint32_t count_modules(void)
{
	uint32_t count = 0;

	while (rec_module_at(&rec_family, count))
		count++;
	return count;
}

static const char *name_of(const struct rec_module *module)
{
	static char name[4096];

	ck_assert_int_gt(rec_names_read(&rec_family, module->path, name, sizeof(name)), 0);
	return name;
}

/* The live entry that holds an address; NULL when there is none. */
static const struct rec_module *module_of(const void *pc)
{
	const struct rec_module *module;

	for (uint32_t i = 0; (module = rec_module_at(&rec_family, i)) != NULL; i++)
		if (module->unload_ticks == 0 && (uint64_t)pc >= module->base &&
		    (uint64_t)pc < module->top)
			return module;
	return NULL;
}

static int check_object(struct dl_phdr_info *info, size_t size, void *count)
{
	const struct rec_module *module = module_of(info->dlpi_phdr);

	(void)size;
	++*(uint32_t *)count;
	ck_assert_ptr_nonnull(module);
	ck_assert_uint_eq(module->bias, info->dlpi_addr);
	ck_assert_int_eq(name_of(module)[0] == '/' || name_of(module)[0] == '[', 1);
	if (info->dlpi_name[0] == '/')
		ck_assert_str_eq(name_of(module), info->dlpi_name);
	return 0;
}

START_TEST(enters_all)
{
	struct stat named, own;
	uint32_t count = 0;

	pre_modules_scan();
	dl_iterate_phdr(check_object, &count);
	ck_assert_uint_eq(count_modules(), count);
	ck_assert_int_eq(stat(name_of(module_of((void *)(uintptr_t)setup)), &named), 0);
	ck_assert_int_eq(stat("/proc/self/exe", &own), 0);
	ck_assert(named.st_ino == own.st_ino && named.st_dev == own.st_dev);
	ck_assert_str_eq(name_of(module_of((void *)getauxval(AT_SYSINFO_EHDR))), "[vdso]");
	ck_assert_uint_eq(module_of((void *)(uintptr_t)getpid)->build_id_bytes, 20);
	pre_modules_scan();
	ck_assert_uint_eq(count_modules(), count);
}
END_TEST

START_TEST(follows_loading)
{
	const struct rec_module *module;
	void *library, *function;
	uint32_t before;
	uint64_t base;

	pre_modules_scan();
	before = count_modules();
	library = dlopen("libanl.so.1", RTLD_NOW);
	if (!library)
		return; /* not installed here */
	function = dlsym(library, "getaddrinfo_a");
	ck_assert_ptr_nonnull(function);
	pre_modules_scan();
	/* Where libanl is only a name of libc, the function lies there. */
	module = rec_module_at(&rec_family, before);
	ck_assert_ptr_nonnull(module);
	ck_assert_ptr_nonnull(strstr(name_of(module), "libanl"));
	ck_assert_uint_gt(module->load_ticks, 0);
	ck_assert_uint_eq(pre_module_path(library), module->path);
	ck_assert_uint_eq(pre_module_path(&before), 0);
	ck_assert_uint_eq(pre_module_path(NULL), 0);
	base = module->base;
	ck_assert(!pre_modules_sweep());
	ck_assert_int_eq(dlclose(library), 0);
	ck_assert(pre_modules_sweep());
	ck_assert_uint_gt(module->unload_ticks, 0);
	ck_assert(!pre_modules_sweep());
	for (uint32_t i = 0; i < before; i++)
		ck_assert_uint_eq(rec_module_at(&rec_family, i)->unload_ticks, 0);
	library = dlopen("libanl.so.1", RTLD_NOW);
	pre_modules_scan();
	ck_assert_uint_eq(count_modules(), before + 2);
	ck_assert(base != 0 && rec_module_at(&rec_family, before + 1)->unload_ticks == 0);
	dlclose(library);
}
END_TEST

START_TEST(learns_by_address)
{
	uint64_t low = 0, high = 0;

	ck_assert(rec_cfi_object((uint64_t)(uintptr_t)getpid, &low, &high));
	pre_module_learn((void *)low);
	if (!_dl_find_object)
		return;
	ck_assert_uint_eq(count_modules(), 1);
	ck_assert_uint_eq(rec_module_at(&rec_family, 0)->base, low);
	pre_module_learn((void *)low);
	ck_assert_uint_eq(count_modules(), 1);
	pre_module_learn((void *)0x10);
	pre_module_learn(NULL);
	ck_assert_uint_eq(count_modules(), 1);
	pre_modules_scan();
	ck_assert_ptr_eq(module_of((void *)low), rec_module_at(&rec_family, 0));
}
END_TEST

/* A child that closes what its parent keeps says nothing of the parent's. */
START_TEST(child_speaks_for_itself)
{
	void *library = dlopen("libanl.so.1", RTLD_NOW);
	const struct rec_module *module;
	pid_t child;
	int status;

	if (!library)
		return;
	pre_modules_scan();
	module = rec_module_at(&rec_family, count_modules() - 1);
	child = fork();
	if (child == 0) {
		if (rec_process_forked() == REC_NONE || dlclose(library) != 0)
			_exit(1);
		_exit(pre_modules_sweep() ? 0 : 2);
	}
	ck_assert(waitpid(child, &status, 0) == child && status == 0);
	ck_assert_uint_eq(module->unload_ticks, 0);
}
END_TEST

START_TEST(bounds_notes)
{
	struct {
		ElfW(Nhdr) head;
		char name[4];
		uint8_t id[32];
	} note = { { 4, 32, NT_GNU_BUILD_ID }, "GNU", { 1, 2, 3 } };
	struct rec_module module = { 0 };

	find_build_id(&module, (uint64_t)(uintptr_t)&note, sizeof(note) - 1);
	ck_assert_uint_eq(module.build_id_bytes, 0);
	find_build_id(&module, (uint64_t)(uintptr_t)&note, sizeof(note));
	ck_assert_uint_eq(module.build_id_bytes, 20);
	ck_assert_mem_eq(module.build_id, note.id, 20);
	memset(&module, 0, sizeof(module));
	note.head.n_descsz = UINT32_MAX;
	find_build_id(&module, (uint64_t)(uintptr_t)&note, sizeof(note));
	note.head.n_descsz = 32;
	note.head.n_namesz = UINT32_MAX - 1;
	find_build_id(&module, (uint64_t)(uintptr_t)&note, sizeof(note));
	ck_assert_uint_eq(module.build_id_bytes, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("modules");
	TCase *cases = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, setup, NULL);
	tcase_add_test(cases, enters_all);
	tcase_add_test(cases, follows_loading);
	tcase_add_test(cases, learns_by_address);
	tcase_add_test(cases, child_speaks_for_itself);
	tcase_add_test(cases, bounds_notes);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
