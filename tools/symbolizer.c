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

const struct rec_symbolizer *cli_symbolizer(void)
{
	static struct rec_symbolizer symbolizer;

	if (!symbolizer.resolve) {
		symbolizer.context = rdr_symbols_create();
		if (!symbolizer.context)
			return NULL;
		symbolizer.resolve = resolve;
	}
	return &symbolizer;
}
