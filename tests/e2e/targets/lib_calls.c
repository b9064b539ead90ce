/*
 * Libraries: loaded by path, by name, through RUNPATH and $ORIGIN of a library, into a namespace;
 * unloaded, and others loaded where they were; a plugin with C++ in a C program. The stacks of each
 * must be named rightly, although two libraries use one address in turn.
 *
 * The libraries are made here with the compiler, before anything is counted.
 */
#include "tests/e2e/targets/truth.h"

#include <dlfcn.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOINLINE __attribute__((noinline, noclone))

extern char **environ;
static char folder[64];

static const char *path_of(const char *name)
{
	static char path[4][160];
	static unsigned which;
	char *at = path[which++ % 4];

	snprintf(at, sizeof(path[0]), "%s/%s", folder, name);
	return at;
}

/* Runs the compiler without the recorder. */
static void build(const char *compiler, const char *name, const char *library, const char *option,
		  const char *text)
{
	char *environment[] = { (char[]){ "PATH=/usr/local/bin:/usr/bin:/bin" }, NULL };
	char source[160], out[160];
	char *arguments[] = { (char *)(uintptr_t)compiler,
			      (char[]){ "-shared" },
			      (char[]){ "-fPIC" },
			      (char[]){ "-O1" },
			      (char[]){ "-o" },
			      out,
			      source,
			      (char *)(uintptr_t)(option ? option : "-g"),
			      NULL };
	FILE *file;
	pid_t child;
	int status;

	snprintf(source, sizeof(source), "%s", path_of(name));
	snprintf(out, sizeof(out), "%s", path_of(library));
	file = fopen(source, "w");
	TRUTH_CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
	TRUTH_CHECK(posix_spawnp(&child, compiler, NULL, NULL, arguments, environment) == 0);
	TRUTH_CHECK(waitpid(child, &status, 0) == child && status == 0);
	unlink(source);
}

/* A library whose function of this name writes so many bytes to a file. */
static void build_writer(const char *library, const char *function, const char *option)
{
	char text[512];

	snprintf(text, sizeof(text),
		 "#include <unistd.h>\n"
		 "__attribute__((noinline)) long %s(int fd, const char *b, long n)\n"
		 "{ long r = write(fd, b, n); __asm__ volatile(\"\"); return r; }\n"
		 "long enter(int fd, const char *b, long n)\n"
		 "{ long r = %s(fd, b, n); __asm__ volatile(\"\"); return r; }\n",
		 function, function);
	build("cc", "writer.c", library, option, text);
}

typedef long (*enter_function)(int fd, const char *buffer, long size);

static int null_fd;
static char buffer[4096];

static void call(void *library, long size)
{
	enter_function enter = (enter_function)dlsym(library, "enter");

	TRUTH_CHECK(enter && enter(null_fd, buffer, size) == size);
}

/* Two libraries in turn; whether the second lies where the first lay is the kernel's choice. */
static void in_turn(void)
{
	for (int i = 0; i < 3; i++) {
		void *library = dlopen(path_of("libfirst.so"), RTLD_NOW);

		TRUTH_CHECK(library != NULL);
		call(library, 100 + i);
		TRUTH_CHECK(dlclose(library) == 0);
		library = dlopen(path_of("libother.so"), RTLD_NOW);
		TRUTH_CHECK(library != NULL);
		call(library, 200 + i);
		TRUTH_CHECK(dlclose(library) == 0);
		truth("expect-stack jdk.FileWrite bytesWritten=%d first_write enter", 100 + i);
		truth("expect-stack jdk.FileWrite bytesWritten=%d other_write enter", 200 + i);
	}
	truth("expect holter.LibraryLoad count=3 call=dlopen path=%s error=null",
	      path_of("libfirst.so"));
	truth("expect holter.LibraryLoad count=3 call=dlclose path=%s", path_of("libfirst.so"));
	truth("expect jdk.NativeLibrary count=3 name=%s loaded=false", path_of("libfirst.so"));
}

NOINLINE static void *load_missing(void)
{
	void *library = dlopen(path_of("libmissing.so"), RTLD_NOW);

	__asm__ volatile("");
	return library;
}

/* libloader.so finds libhidden.so by its RUNPATH, which counts for calls from its own code alone.
 */
static void by_runpath(void)
{
	void *loader = dlopen(path_of("libloader.so"), RTLD_NOW), *hidden;
	void *(*load)(const char *);

	TRUTH_CHECK(loader && (load = (void *(*)(const char *))dlsym(loader, "load")) != NULL);
	TRUTH_CHECK(dlopen("libhidden.so", RTLD_NOW) == NULL);
	TRUTH_CHECK((hidden = load("libhidden.so")) != NULL);
	call(hidden, 301);
	truth("expect-stack jdk.FileWrite bytesWritten=301 hidden_write enter");
	TRUTH_CHECK(dlclose(hidden) == 0);
	TRUTH_CHECK((hidden = load("$ORIGIN/deep/libhidden.so")) != NULL);
	call(hidden, 302);
	truth("expect-stack jdk.FileWrite bytesWritten=302 hidden_write enter");
	TRUTH_CHECK(dlclose(hidden) == 0 && dlclose(loader) == 0);
}

static void in_namespace(void)
{
	void *library = dlmopen(LM_ID_NEWLM, path_of("libother.so"), RTLD_NOW);

	TRUTH_CHECK(library != NULL && dlsym(library, "enter") != NULL);
	TRUTH_CHECK(dlclose(library) == 0);
	truth("expect holter.LibraryLoad count=1 call=dlmopen path=%s", path_of("libother.so"));
}

/* The C++ library comes with the plugin; its throw is caught inside. */
static void cplusplus_plugin(const char *name, int number)
{
	void *plugin = dlopen(path_of(name), RTLD_NOW);
	int (*run)(int);

	TRUTH_CHECK(plugin && (run = (int (*)(int))dlsym(plugin, "run")) != NULL);
	for (int i = 0; i < 5; i++)
		TRUTH_CHECK(run(number + i) == number + i);
	TRUTH_CHECK(dlerror() == NULL);
	TRUTH_CHECK(dlclose(plugin) == 0);
}

static void build_all(void)
{
	char runpath[200];
	static const char thrower[] =
		"#include <stdexcept>\n#include <string>\n"
		"extern \"C\" __attribute__((noinline)) void throw_number(int n)\n"
		"{ throw std::range_error(\"plugin \" + std::to_string(n)); }\n"
		"extern \"C\" int run(int n)\n"
		"{ try { throw_number(n); } catch (const std::exception &e) {\n"
		"  return std::uncaught_exceptions() ? -1 : "
		"std::stoi(std::string(e.what()).substr(7)); }\n"
		"  return -2; }\n";

	build_writer("libfirst.so", "first_write", NULL);
	build_writer("libother.so", "other_write", NULL);
	build_writer("deep/libhidden.so", "hidden_write", NULL);
	snprintf(runpath, sizeof(runpath), "-Wl,--enable-new-dtags,-rpath,%s/deep", folder);
	build("cc", "loader.c", "libloader.so", runpath,
	      "#define _GNU_SOURCE\n#include <dlfcn.h>\n"
	      "void *load(const char *n) { void *p = dlopen(n, RTLD_NOW); __asm__ volatile(\"\"); "
	      "return p; }\n");
	build("c++", "plugin.cc", "libplugin.so", NULL, thrower);
	build("c++", "own.cc", "libownplugin.so", "-static-libstdc++", thrower);
}

int main(void)
{
	static const char *const names[] = { "libfirst.so",  "libother.so",  "deep/libhidden.so",
					     "libloader.so", "libplugin.so", "libownplugin.so" };

	snprintf(folder, sizeof(folder), "/tmp/holter-lib-%d", getpid());
	TRUTH_CHECK(mkdir(folder, 0700) == 0 && mkdir(path_of("deep"), 0700) == 0);
	build_all();
	null_fd = 2;
	TRUTH_CHECK(freopen("/dev/null", "w", stderr) != NULL);
	in_turn();
	TRUTH_CHECK(load_missing() == NULL && dlerror() != NULL && dlerror() == NULL);
	truth("expect holter.LibraryLoad count=1 path=%s error!=null", path_of("libmissing.so"));
	truth("expect-stack holter.LibraryLoad path=%s load_missing main",
	      path_of("libmissing.so"));
	by_runpath();
	in_namespace();
	cplusplus_plugin("libplugin.so", 1000);
	cplusplus_plugin("libownplugin.so", 2000);
	cplusplus_plugin("libplugin.so", 3000);
	truth("expect jdk.JavaExceptionThrow count=15 message~^plugin.[123]00");
	truth("expect-stack jdk.JavaExceptionThrow 'message=plugin 3004' throw_number run");
	truth_ready(); /* until the dump is made the files must be there to be read */
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_of(names[i]));
	rmdir(path_of("deep"));
	rmdir(folder);
	return 0;
}
