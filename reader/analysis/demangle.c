/*
 * Raw symbol names to what people wrote (symbols.h), by libiberty: C++, Rust, D, Go, Ada.
 *
 * In: a name of a symbol table. Out: name and parameters apart. Never here: files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "reader/analysis/symbols.h"
#include "recorder/base/util.h"

#define RAW_MAX 4096

/* Parts and copies that the compiler made of a function. */
static const char *const suffixes[] = { ".part.",     ".isra.", ".constprop.", ".cold",
					".lto_priv.", ".llvm.", ".localalias" };

static void put(char *field, const char *from, size_t length)
{
	length = min_u64(length, RDR_SYMBOL_BYTES - 1);
	memcpy(field, from, length);
	field[length] = 0;
}

static size_t plain_length(const char *raw)
{
	size_t length = strcspn(raw, "@");

	for (unsigned i = 0; i < ARRAY_LEN(suffixes); i++) {
		const char *found = strstr(raw, suffixes[i]);

		if (found && found != raw && (size_t)(found - raw) < length)
			length = (size_t)(found - raw);
	}
	return length;
}

/* End of the list that opens at `at`, behind its bracket. */
static const char *list_end(const char *at)
{
	int depth = 0;

	for (; *at; at++) {
		if (*at == '(')
			depth++;
		else if (*at == ')' && --depth == 0)
			return at;
	}
	return at;
}

/* The list of parameters is what stands in brackets behind the name in the full form. */
static void put_parameters(const char *full, const char *name, struct rdr_symbol *symbol)
{
	const char *at = full;
	size_t length = strlen(name);

	while ((at = strstr(at, name)) != NULL) {
		if (at[length] == '(') {
			at += length + 1;
			put(symbol->parameters, at, (size_t)(list_end(at - 1) - at));
			return;
		}
		at++;
	}
}

void rdr_symbols_demangle(const char *raw, struct rdr_symbol *symbol)
{
	size_t length = plain_length(raw);
	char *name, *full, *copy;

	symbol->parameters[0] = 0;
	symbol->is_cplusplus = 0;
	put(symbol->name, raw, length);
	if (length < 3 || length > RAW_MAX || raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R'))
		return;
	copy = strndup(raw, length);
	if (!copy)
		return;
	name = cplus_demangle(copy, DMGL_ANSI | DMGL_AUTO);
	full = cplus_demangle(copy, DMGL_ANSI | DMGL_AUTO | DMGL_PARAMS);
	if (name && *name) {
		put(symbol->name, name, strlen(name));
		symbol->is_cplusplus = 1;
		if (full)
			put_parameters(full, name, symbol);
	}
	free(name);
	free(full);
	free(copy);
}
