/*
 * What the subcommands of `holter` share: their table, messages, option parsing, units, JSON.
 *
 * In: commands.def. Out: declarations for main.c and cmd_*.c. Never here: anything about regions or
 * files of recordings (cmd_region.h, holter_reader.h).
 */
#ifndef HOLTER_TOOLS_CMD_H
#define HOLTER_TOOLS_CMD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Exit status of every subcommand. */
enum cli_status { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

enum cli_group { CLI_GROUP_RECORDING, CLI_GROUP_READING, CLI_GROUP_INTERNAL, CLI_GROUP_COUNT };

struct cli_command {
	const char *name;
	const char *synopsis; /* behind "holter name" */
	const char *help;     /* one line */
	int (*run)(int argc, char **argv);
	enum cli_group group;
};

#define COMMAND(name, group, function, synopsis, help) int function(int argc, char **argv);
#include "tools/commands.def"

/**
 * cli_fatal() - prints "holter COMMAND: text" as one line on stderr and ends with a status.
 * cli_warn() - the same without ending. cli_usage() - as a wrong use: adds where help is, returns
 * CLI_USAGE.
 *
 * Return: cli_usage(): CLI_USAGE; cli_failed(): CLI_FAILED, as a value to return.
 * Context: main thread.
 */
void cli_fatal(int status, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
void cli_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
int cli_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An option of a subcommand. Long form "--name", "--name VALUE" or "--name=VALUE"; short may be 0.
 */
struct cli_option {
	const char *name;     /* without dashes */
	char letter;	      /* 0: none */
	const char *argument; /* what its value is called in help; NULL: takes none */
	const char *help;
	/* Where it goes: exactly one of them. */
	int *flag;	    /* set to 1 */
	const char **value; /* the last one given */
	int (*each)(const char *value,
		    void *context); /* called for each; not 0 ends as that status */
	void *context;
};

#define CLI_OPTION_END                                                                             \
	{                                                                                          \
		NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL                                        \
	}

/**
 * cli_options() - parses the options of the running subcommand; --help prints its help and ends.
 * @options: ended by CLI_OPTION_END.
 * @stop_at_operand: 1: the first operand ends the options (`run`); else they may stand anywhere.
 *
 * Return: index in argv of the first operand (operands are moved behind the options); or -status
 * (-CLI_USAGE) after a message.
 * Context: main thread.
 */
int cli_options(int argc, char **argv, const struct cli_option *options, int stop_at_operand);

/**
 * cli_span() - parses "30s" into nanoseconds; cli_size() - "16M" into bytes.
 *
 * Return: 0; CLI_USAGE after a message that names the option.
 * Context: any.
 */
int cli_span(const char *option, const char *value, uint64_t *nanoseconds);
int cli_size(const char *option, const char *value, uint64_t *bytes);

/**
 * cli_print_span() - nanoseconds for people, three digits: "1.23 ms". cli_print_size() - bytes:
 * "16.0 MiB".
 *
 * Return: the buffer. Context: any.
 */
#define CLI_TEXT 32
const char *cli_print_span(char buffer[CLI_TEXT], uint64_t nanoseconds);
const char *cli_print_size(char buffer[CLI_TEXT], uint64_t bytes);

/**
 * cli_json_string() - writes a string with quotes and escapes; invalid UTF-8 becomes U+FFFD.
 *
 * Return: nothing. Context: any.
 */
void cli_json_string(FILE *out, const char *string);

/**
 * cli_nearest() - the name that comes nearest to a misspelt one.
 * @names: `count` strings.
 *
 * Return: one of them, NULL when none is near. Context: any.
 */
const char *cli_nearest(const char *word, const char *const *names, size_t count);

/* malloc and friends that end the program with a message instead of returning NULL. */
void *cli_alloc(size_t bytes) __attribute__((malloc));
char *cli_strdup(const char *string) __attribute__((malloc));
void *cli_realloc(void *old, size_t bytes);

/* The table, ended by a NULL name; the running command. */
extern const struct cli_command cli_commands[];
extern const struct cli_command *cli_current;

#endif
