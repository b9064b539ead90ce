/*
 * struct rec_symbolizer over rdr_symbols (symbolizer.h).
 */
#include <string.h>

#include "reader/analysis/symbols.h"
#include "tools/symbolizer.h"

#define MAX_SYMBOLS 16

static int resolve(void *context, const char *module, const char *build_id, uint64_t address,
		   struct rec_symbol *symbols, int max)
{
	struct rdr_symbol found[MAX_SYMBOLS];
	int count = rdr_symbols_resolve(context, module, build_id, address, found,
					max < MAX_SYMBOLS ? max : MAX_SYMBOLS);

	for (int i = 0; i < count; i++) {
		_Static_assert(sizeof(symbols->name) == sizeof(found->name) &&
				       sizeof(symbols->parameters) == sizeof(found->parameters),
			       "fields are copied whole");
		memcpy(symbols[i].name, found[i].name, sizeof(symbols[i].name));
		memcpy(symbols[i].parameters, found[i].parameters, sizeof(symbols[i].parameters));
		symbols[i].line = found[i].line;
		symbols[i].is_cplusplus = found[i].is_cplusplus;
		symbols[i].is_inlined = found[i].is_inlined;
	}
	return count;
}

/* A type_info's name is a symbol's without its head; "_ZTS" is that of the name itself. */
static bool type_name(void *context, const char *mangled, size_t length, char *name, size_t size)
{
	static const char head[] = "_ZTS", said[] = "typeinfo name for ";
	struct rdr_symbol symbol;
	char raw[1024];
	size_t bytes;

	(void)context;
	if (length == 0 || length > sizeof(raw) - sizeof(head))
		return false;
	memcpy(raw, head, sizeof(head) - 1);
	memcpy(raw + sizeof(head) - 1, mangled, length);
	raw[sizeof(head) - 1 + length] = 0;
	rdr_symbols_demangle(raw, &symbol);
	if (strncmp(symbol.name, said, sizeof(said) - 1) != 0)
		return false;
	bytes = strlen(symbol.name + sizeof(said) - 1) + 1;
	if (bytes > size)
		return false;
	memcpy(name, symbol.name + sizeof(said) - 1, bytes);
	return true;
}

const struct rec_symbolizer *cli_symbolizer(void)
{
	static struct rec_symbolizer symbolizer;

	if (!symbolizer.resolve) {
		symbolizer.context = rdr_symbols_create();
		if (!symbolizer.context)
			return NULL;
		symbolizer.resolve = resolve;
		symbolizer.type_name = type_name;
	}
	return &symbolizer;
}
