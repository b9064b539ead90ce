/*
 * Messages, options, units and JSON of the subcommands (cmd.h).
 *
 * In: what a subcommand wants said or parsed. Out: text on stdout or stderr. Never here: knowledge
 * of one subcommand.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/base/text.h"
#include "tools/cmd.h"

const struct cli_command *cli_current;

static void say(const char *format, va_list arguments)
{
	char line[4608];

	/* One write, so that lines of several processes do not mix. */
	vsnprintf(line, sizeof(line), format, arguments);
	for (char *c = line; *c; c++)
		if ((unsigned char)*c < 32)
			*c = '?';
	fflush(stdout);
	fprintf(stderr, "holter%s%s: %s\n", cli_current ? " " : "",
		cli_current ? cli_current->name : "", line);
}

void cli_fatal(int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	exit(status);
}

void cli_warn(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

int cli_failed(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	return CLI_FAILED;
}

int cli_usage(const char *format, ...)
{
	char with_hint[4096];
	va_list arguments;

	snprintf(with_hint, sizeof(with_hint), "%s (see `holter %s%s--help`)", format,
		 cli_current ? cli_current->name : "", cli_current ? " " : "");
	va_start(arguments, format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	say(with_hint, arguments);
#pragma GCC diagnostic pop
	va_end(arguments);
	return CLI_USAGE;
}

static void print_command_help(const struct cli_option *options)
{
	printf("usage: holter %s %s\n%s\n", cli_current->name, cli_current->synopsis,
	       cli_current->help);
	printf("\noptions:\n");
	for (const struct cli_option *o = options; o->name; o++) {
		char left[64];

		snprintf(left, sizeof(left), "%s%c%s--%s%s%s", o->letter ? "-" : "  ",
			 o->letter ? o->letter : ' ', o->letter ? ", " : " ", o->name,
			 o->argument ? " " : "", o->argument ? o->argument : "");
		printf("  %-24s %s\n", left, o->help);
	}
	printf("  %-24s %s\n", "-h, --help", "this text");
}

static const struct cli_option *find_option(const struct cli_option *options, const char *word,
					    const char **value)
{
	size_t length = strcspn(word, "=");

	*value = NULL;
	if (word[1] != '-') {
		if (word[2])
			*value = word + 2;
		for (; options->name; options++)
			if (options->letter == word[1])
				return options;
		return NULL;
	}
	if (word[length] == '=')
		*value = word + length + 1;
	for (; options->name; options++)
		if (text_equal(word + 2, length - 2, options->name))
			return options;
	return NULL;
}

static int unknown_option(const struct cli_option *options, const char *word)
{
	const char *names[32];
	const char *nearest;
	size_t count = 0;

	for (; options->name && count < ARRAY_LEN(names); options++)
		names[count++] = options->name;
	nearest = word[1] == '-' ? cli_nearest(word + 2, names, count) : NULL;
	if (nearest)
		return cli_usage("unknown option %s: did you mean --%s?", word, nearest);
	return cli_usage("unknown option %s", word);
}

static int take_option(const struct cli_option *option, const char *word, const char *value)
{
	if (!option->argument) {
		if (value)
			return cli_usage("option %s takes no value", word);
		*option->flag = 1;
		return 0;
	}
	if (option->each)
		return option->each(value, option->context);
	*option->value = value;
	return 0;
}

/* Operands are gathered at the front and put behind the options at the end. */
int cli_options(int argc, char **argv, const struct cli_option *options, int stop_at_operand)
{
	int operands = 0;
	int at;

	for (at = 1; at < argc; at++) {
		char *word = argv[at];
		const char *value;
		const struct cli_option *option;
		int status;

		if (word[0] != '-' || !word[1]) {
			if (stop_at_operand)
				break;
			argv[1 + operands++] = word;
			continue;
		}
		if (strcmp(word, "--") == 0) {
			at++;
			break;
		}
		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
			print_command_help(options);
			exit(fflush(stdout) ? CLI_FAILED : CLI_DONE);
		}
		option = find_option(options, word, &value);
		if (!option)
			return -unknown_option(options, word);
		if (option->argument && !value) {
			if (at + 1 >= argc)
				return -cli_usage("option %s needs a value: %s", word,
						  option->argument);
			value = argv[++at];
		}
		status = take_option(option, word, value);
		if (status)
			return -status;
	}
	/* [1, 1 + operands) hold operands, [at, argc) are all operands: join them at the end. */
	memmove(argv + at - operands, argv + 1, (size_t)operands * sizeof(*argv));
	return at - operands;
}

int cli_span(const char *option, const char *value, uint64_t *nanoseconds)
{
	if (text_parse_span(value, strlen(value), nanoseconds) == 0)
		return 0;
	return cli_usage("%s: \"%s\" is not a time such as 30s, 500ms or 2m", option, value);
}

int cli_size(const char *option, const char *value, uint64_t *bytes)
{
	if (text_parse_size(value, strlen(value), bytes) == 0)
		return 0;
	return cli_usage("%s: \"%s\" is not a size such as 4096, 64k or 16M", option, value);
}

const char *cli_print_span(char buffer[CLI_TEXT], uint64_t nanoseconds)
{
	static const char *const units[] = { "ns", "us", "ms", "s" };
	double value = (double)nanoseconds;
	size_t unit = 0;

	for (; value >= 1000 && unit + 1 < ARRAY_LEN(units); unit++)
		value /= 1000;
	snprintf(buffer, CLI_TEXT, "%.*f %s",
		 value >= 100 || !unit ? 0
		 : value >= 10	       ? 1
				       : 2,
		 value, units[unit]);
	return buffer;
}

const char *cli_print_size(char buffer[CLI_TEXT], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t unit = 0;

	for (; value >= 1024 && unit + 1 < ARRAY_LEN(units); unit++)
		value /= 1024;
	snprintf(buffer, CLI_TEXT, "%.*f %s", unit ? 1 : 0, value, units[unit]);
	return buffer;
}

/* Length of the valid UTF-8 sequence at `at`; 0 when there is none. */
static size_t utf8_length(const unsigned char *at)
{
	size_t length = at[0] < 0x80			? 1
			: at[0] >= 0xc2 && at[0] < 0xe0 ? 2
			: at[0] >= 0xe0 && at[0] < 0xf0 ? 3
			: at[0] >= 0xf0 && at[0] < 0xf5 ? 4
							: 0;

	for (size_t i = 1; i < length; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if (length == 3 && ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0)))
		return 0;
	if (length == 4 && ((at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] >= 0x90)))
		return 0;
	return length;
}

void cli_json_string(FILE *out, const char *string)
{
	const unsigned char *at = (const unsigned char *)string;

	putc('"', out);
	while (*at) {
		size_t length = utf8_length(at);

		if (!length) {
			fputs("\xef\xbf\xbd", out);
			length = 1;
		} else if (*at == '"' || *at == '\\') {
			fprintf(out, "\\%c", *at);
		} else if (*at < 32 || *at == 127) {
			fprintf(out, "\\u%04x", *at);
		} else {
			fwrite(at, 1, length, out);
		}
		at += length;
	}
	putc('"', out);
}

const char *cli_nearest(const char *word, const char *const *names, size_t count)
{
	const char *best = NULL;
	uint32_t best_distance = UINT32_MAX;

	for (size_t i = 0; i < count; i++) {
		uint32_t distance;

		if (!text_is_near(word, strlen(word), names[i], &distance) ||
		    distance >= best_distance)
			continue;
		best = names[i];
		best_distance = distance;
	}
	return best;
}

void *cli_alloc(size_t bytes)
{
	return cli_realloc(NULL, bytes);
}

char *cli_strdup(const char *string)
{
	size_t bytes = strlen(string) + 1;

	return memcpy(cli_alloc(bytes), string, bytes);
}

void *cli_realloc(void *old, size_t bytes)
{
	void *memory = realloc(old, bytes ? bytes : 1);

	if (!memory)
		cli_fatal(CLI_FAILED, "out of memory");
	return memory;
}
