/*
 * holter: picks the subcommand and runs it.
 *
 * In: the command line. Out: exit status 0 done, 1 failed, 2 wrong use. Never here: what a
 * subcommand does (cmd_*.c, one row each in commands.def).
 */
#include <errno.h>
#include <string.h>

#include "recorder/base/util.h"
#include "tools/cmd.h"

const struct cli_command cli_commands[] = {
#define COMMAND(name, group, function, synopsis, help)                                             \
	{ #name, synopsis, help, function, CLI_GROUP_##group },
#include "tools/commands.def"
	{ NULL, NULL, NULL, NULL, CLI_GROUP_COUNT },
};

static void print_group(FILE *out, const char *title, enum cli_group group)
{
	int is_first = 1;

	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (c->group != group)
			continue;
		if (is_first)
			fprintf(out, "\n%s:\n", title);
		is_first = 0;
		fprintf(out, "  %-10s %s\n", c->name, c->help);
	}
}

static void print_help(FILE *out)
{
	fputs("usage: holter COMMAND [OPTION]... [ARGUMENT]...\n"
	      "A flight recorder for native programs that nobody rebuilds.\n",
	      out);
	print_group(out, "recording", CLI_GROUP_RECORDING);
	print_group(out, "reading", CLI_GROUP_READING);
	fputs("\nPID is a process, the name of a recorded program, or a region file of /dev/shm.\n"
	      "`holter COMMAND --help` explains one command. Exit status: 0 done, 1 failed, 2 "
	      "wrong "
	      "use.\n",
	      out);
}

static int unknown_command(const char *name)
{
	const char *names[64];
	const char *nearest;
	size_t count = 0;

	for (const struct cli_command *c = cli_commands; c->name && count < ARRAY_LEN(names); c++)
		if (c->group != CLI_GROUP_INTERNAL)
			names[count++] = c->name;
	nearest = cli_nearest(name, names, count);
	if (nearest)
		return cli_usage("unknown command \"%s\": did you mean \"%s\"?", name, nearest);
	return cli_usage("unknown command \"%s\"", name);
}

static int help_for(const char *name)
{
	static char help[] = "--help";

	for (const struct cli_command *c = cli_commands; c->name; c++) {
		char *arguments[] = { (char *)(uintptr_t)c->name, help, NULL };

		if (strcmp(c->name, name) != 0)
			continue;
		cli_current = c;
		return c->run(2, arguments);
	}
	return unknown_command(name);
}

/* A full disk or a closed pipe behind stdout is a failure too. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	if (errno != EPIPE)
		cli_warn("standard output: %s", strerror(errno));
	return status ? status : CLI_FAILED;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    (strcmp(argv[1], "help") == 0 && argc == 2)) {
		print_help(stdout);
		return finish(CLI_DONE);
	}
	if (strcmp(argv[1], "help") == 0)
		return finish(help_for(argv[2]));
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("holter " HOLTER_VERSION);
		return finish(CLI_DONE);
	}
	for (const struct cli_command *c = cli_commands; c->name; c++) {
		if (strcmp(c->name, argv[1]) != 0)
			continue;
		cli_current = c;
		return finish(c->run(argc - 1, argv + 1));
	}
	return unknown_command(argv[1]);
}
