/*
 * Looks at a program before it is started (program_check.h): scripts, ELF headers, file modes.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tools/cmd.h"
#include "tools/program_check.h"

#define SCRIPT_DEPTH 5 /* as in the kernel */
#define HEADERS_MAX 128

static int is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

/* Why a path that was typed with a '/' cannot be executed. */
static int cannot_execute(const char *name)
{
	struct stat status;

	if (stat(name, &status))
		return cli_failed("%s: %s", name, strerror(errno));
	if (S_ISDIR(status.st_mode))
		return cli_failed("%s: is a folder, not a program", name);
	return cli_failed("%s: may not be executed: check its mode (chmod +x)", name);
}

int cli_program_find(const char *name, char path[CLI_PATH])
{
	const char *at = getenv("PATH");

	if (strchr(name, '/')) {
		if (!is_program(name))
			return cannot_execute(name);
		snprintf(path, CLI_PATH, "%s", name);
		return 0;
	}
	for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; *name && at;) {
		size_t length = strcspn(at, ":");

		snprintf(path, CLI_PATH, "%.*s%s%s", (int)length, at, length ? "/" : "", name);
		if (is_program(path))
			return 0;
		at = at[length] ? at + length + 1 : NULL;
	}
	return cli_failed("%s: no such program in PATH", name);
}

/* Rights that a program gains make the loader ignore LD_PRELOAD. */
static int check_rights(int fd, const char *path, char *why, size_t size)
{
	struct stat status;

	if (fstat(fd, &status))
		return 0;
	if ((status.st_mode & S_ISUID) && status.st_uid != geteuid()) {
		snprintf(
			why, size,
			"%s: is set-user-ID, which makes the loader ignore libholter.so: run it as "
			"its owner",
			path);
		return CLI_FAILED;
	}
	if ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) &&
	    status.st_gid != getegid()) {
		snprintf(why, size,
			 "%s: is set-group-ID, which makes the loader ignore libholter.so: run it "
			 "with that group",
			 path);
		return CLI_FAILED;
	}
	if (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0) {
		snprintf(
			why, size,
			"%s: has file capabilities, which make the loader ignore libholter.so: run "
			"it as root",
			path);
		return CLI_FAILED;
	}
	return 0;
}

/* The loader itself may be given a program; it honours LD_PRELOAD though it has no interpreter. */
static int is_loader(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	return strncmp(base, "ld-linux", 8) == 0 || strncmp(base, "ld.so", 5) == 0;
}

static int check_interpreter(int fd, const char *path, const Elf64_Phdr *header, char *why,
			     size_t size)
{
	char name[256];
	ssize_t got = pread(fd, name, sizeof(name) - 1, (off_t)header->p_offset);

	name[got > 0 ? got : 0] = 0;
	if (!strstr(name, "ld-musl"))
		return 0;
	snprintf(why, size, "%s: is linked with musl; Holter records programs of glibc", path);
	return CLI_FAILED;
}

static int check_elf(int fd, const char *path, const Elf64_Ehdr *elf, char *why, size_t size)
{
	Elf64_Phdr headers[HEADERS_MAX];
	size_t count = elf->e_phnum < HEADERS_MAX ? elf->e_phnum : HEADERS_MAX;
	ssize_t got;

	if (elf->e_ident[EI_CLASS] != ELFCLASS64 || elf->e_machine != EM_X86_64) {
		snprintf(why, size, "%s: is not an x86-64 program; Holter records only those",
			 path);
		return CLI_FAILED;
	}
	got = pread(fd, headers, count * sizeof(*headers), (off_t)elf->e_phoff);
	count = got > 0 ? (size_t)got / sizeof(*headers) : 0;
	for (size_t i = 0; i < count; i++)
		if (headers[i].p_type == PT_INTERP)
			return check_interpreter(fd, path, &headers[i], why, size);
	if (is_loader(path))
		return 0;
	snprintf(why, size, "%s: is statically linked, so nothing can be preloaded into it", path);
	return CLI_FAILED;
}

/* The interpreter named by "#!"; a file without it is run by /bin/sh. */
static int script_interpreter(const char *start, char interpreter[CLI_PATH])
{
	size_t length;

	if (start[0] != '#' || start[1] != '!') {
		snprintf(interpreter, CLI_PATH, "/bin/sh");
		return 0;
	}
	start += 2;
	start += strspn(start, " \t");
	length = strcspn(start, " \t\n");
	if (!length)
		return -1;
	snprintf(interpreter, CLI_PATH, "%.*s", (int)length, start);
	return 0;
}

static int check_file(const char *path, int depth, char *why, size_t size)
{
	union {
		Elf64_Ehdr elf;
		char text[512];
	} start = { .text = "" };
	char interpreter[CLI_PATH];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int status = 0;
	ssize_t got;

	/* A program that may be executed but not read: exec will tell. */
	if (fd < 0)
		return 0;
	got = read(fd, start.text, sizeof(start.text) - 1);
	if (got >= (ssize_t)sizeof(start.elf) && memcmp(start.text, ELFMAG, SELFMAG) == 0) {
		status = check_rights(fd, path, why, size);
		if (!status)
			status = check_elf(fd, path, &start.elf, why, size);
		close(fd);
		return status;
	}
	close(fd);
	if (got <= 0 || depth == 0 || script_interpreter(start.text, interpreter)) {
		snprintf(why, size, "%s: is neither a program nor a script", path);
		return CLI_FAILED;
	}
	if (!is_program(interpreter)) {
		snprintf(why, size, "%s: its interpreter %s cannot be executed", path, interpreter);
		return CLI_FAILED;
	}
	return check_file(interpreter, depth - 1, why, size);
}

int cli_program_check(const char *path, char *why, size_t size)
{
	return check_file(path, SCRIPT_DEPTH, why, size);
}
