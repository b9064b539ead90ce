/*
 * Addresses to constants with names (symbol_names.h).
 *
 * In: answers of reader/analysis/symbols. Out: keys that no constant of the file has. Each address
 * is looked up once.
 */
#include "tools/symbol_names.h"

#include <stdlib.h>
#include <unistd.h>

#include "reader/analysis/symbols.h"
#include "recorder/base/hash.h"
#include "recorder/base/text.h"
#include "tools/cmd.h"

#define SLOTS_FIRST 1024u
#define DESCRIPTOR_BYTES 1024u

void cli_names_init(struct cli_names *names)
{
	*names = (struct cli_names){ .place_slots = SLOTS_FIRST, .symbol_slot_count = SLOTS_FIRST };
	names->symbols_of_files = rdr_symbols_create();
	if (!names->symbols_of_files)
		cli_fatal(CLI_FAILED, "out of memory");
	names->places = cli_alloc(SLOTS_FIRST * sizeof(struct cli_place *));
	memset(names->places, 0, SLOTS_FIRST * sizeof(struct cli_place *));
	names->symbol_slots = cli_alloc(SLOTS_FIRST * sizeof(*names->symbol_slots));
	memset(names->symbol_slots, 0, SLOTS_FIRST * sizeof(*names->symbol_slots));
}

void cli_names_fini(struct cli_names *names)
{
	rdr_symbols_destroy(names->symbols_of_files);
	for (size_t i = 0; i < names->module_count; i++) {
		free(names->modules[i].path);
		free(names->modules[i].build_id);
	}
	for (size_t i = 0; i < names->symbol_count; i++)
		free(names->symbols[i].text);
	for (size_t i = 0; i < names->place_slots; i++)
		free(names->places[i]);
	free(names->modules);
	free(names->symbols);
	free(names->methods);
	free(names->places);
	free(names->symbol_slots);
}

void cli_names_module(struct cli_names *names, const char *path, const char *build_id)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash && slash[1] ? slash + 1 : path;
	struct cli_module *module;
	bool is_ambiguous = false;

	for (size_t i = 0; i < names->module_count; i++) {
		struct cli_module *other = &names->modules[i];

		if (strcmp(other->path, path) == 0 && strcmp(other->build_id, build_id) == 0)
			return;
		if (strcmp(other->name, name) != 0)
			continue;
		/* The same file by two ways is the same file. */
		if (*build_id && strcmp(other->build_id, build_id) == 0)
			return;
		other->is_ambiguous = is_ambiguous = true;
	}
	names->modules =
		cli_realloc(names->modules, (names->module_count + 1) * sizeof(*names->modules));
	module = &names->modules[names->module_count++];
	*module = (struct cli_module){ .path = cli_strdup(path),
				       .build_id = cli_strdup(build_id),
				       .is_ambiguous = is_ambiguous };
	module->name = module->path + (name - path);
}

static uint32_t *symbol_slot(struct cli_names *names, const char *text)
{
	size_t slot = hash_bytes(text, strlen(text), 0) & (names->symbol_slot_count - 1);

	while (names->symbol_slots[slot] &&
	       strcmp(names->symbols[names->symbol_slots[slot] - 1].text, text) != 0)
		slot = (slot + 1) & (names->symbol_slot_count - 1);
	return &names->symbol_slots[slot];
}

static void grow_symbols(struct cli_names *names)
{
	size_t bytes = 2 * names->symbol_slot_count * sizeof(*names->symbol_slots);

	names->symbol_slot_count *= 2;
	names->symbol_slots = cli_realloc(names->symbol_slots, bytes);
	memset(names->symbol_slots, 0, bytes);
	for (size_t i = 0; i < names->symbol_count; i++)
		*symbol_slot(names, names->symbols[i].text) = (uint32_t)i + 1;
}

static uint32_t symbol_of(struct cli_names *names, const char *text)
{
	uint32_t *slot = symbol_slot(names, text);
	uint32_t index;

	if (*slot)
		return *slot - 1;
	index = (uint32_t)names->symbol_count++;
	names->symbols = cli_realloc(names->symbols, names->symbol_count * sizeof(*names->symbols));
	names->symbols[index] =
		(struct cli_symbol){ .text = cli_strdup(text), .key = names->next_symbol_key++ };
	*slot = index + 1;
	if (names->symbol_count > names->symbol_slot_count / 2)
		grow_symbols(names);
	return index;
}

/* Methods of one place are few and each place is asked for once, so they are not shared. */
static uint32_t method_of(struct cli_names *names, uint64_t class_key, uint32_t name,
			  uint32_t descriptor)
{
	uint32_t index = (uint32_t)names->method_count++;

	/* Doubles at powers of two. */
	if ((index & (index - 1)) == 0)
		names->methods = cli_realloc(names->methods, (index ? 2 * (size_t)index : 1) *
								     sizeof(*names->methods));
	names->methods[index] = (struct cli_method){ .class_key = class_key,
						     .name = name,
						     .descriptor = descriptor,
						     .key = names->next_method_key++ };
	return index;
}

/* "int, char const*" -> "(Lint;Lchar const*;)V": jfr prints the first of the second. */
static void describe(const char *parameters, char *buffer)
{
	struct text text = text_init(buffer, DESCRIPTOR_BYTES);
	bool is_open = false;
	int depth = 0;

	text_put(&text, "(");
	for (const char *at = parameters; *at; at++) {
		/* '/' would be read as the end of a package, ';' as that of the type. */
		char piece[2] = { *at == ';' ? ',' : *at == '/' ? ':' : *at, 0 };

		depth += strchr("<([{", *at) != NULL;
		depth -= strchr(">)]}", *at) != NULL;
		if (*at == ',' && depth <= 0) {
			text_put(&text, is_open ? ";" : "");
			is_open = false;
			continue;
		}
		if (*at == ' ' && !is_open)
			continue;
		text_put(&text, is_open ? "" : "L");
		text_put(&text, piece);
		is_open = true;
	}
	text_put(&text, is_open ? ";)V" : ")V");
	if (text.is_cut)
		memcpy(buffer, "()V", sizeof("()V"));
}

static void name_place(struct cli_names *names, struct cli_place *place)
{
	struct cli_module *module = &names->modules[place->module];
	struct rdr_symbol found[CLI_INLINED_MAX];
	char descriptor[DESCRIPTOR_BYTES];
	int count = 0;

	if (!module->is_ambiguous && module->path[0] == '/')
		count = rdr_symbols_resolve(names->symbols_of_files, module->path, module->build_id,
					    place->address, found, CLI_INLINED_MAX);
	for (int i = 0; i < count; i++) {
		struct cli_name *name = &place->names[place->count];
		uint32_t text;

		if (!found[i].name[0])
			continue;
		describe(found[i].parameters, descriptor);
		text = symbol_of(names, found[i].name);
		name->method =
			method_of(names, place->class_key, text, symbol_of(names, descriptor));
		name->line = found[i].line > 0 ? found[i].line : -1;
		name->kind = found[i].is_inlined     ? CLI_FRAME_INLINED
			     : found[i].is_cplusplus ? CLI_FRAME_CPLUSPLUS
						     : CLI_FRAME_NATIVE;
		place->count++;
	}
	module->resolved += place->count != 0;
	module->unresolved += place->count == 0;
	if (!place->count)
		module->an_address = place->address;
}

static struct cli_place **place_slot(struct cli_names *names, uint32_t module, uint64_t address,
				     uint64_t class_key)
{
	uint64_t parts[3] = { module, address, class_key };
	size_t slot = hash_words(parts, 3, 0) & (names->place_slots - 1);

	for (;; slot = (slot + 1) & (names->place_slots - 1)) {
		struct cli_place *place = names->places[slot];

		if (!place || (place->module == module && place->address == address &&
			       place->class_key == class_key))
			return &names->places[slot];
	}
}

static void grow_places(struct cli_names *names)
{
	struct cli_place **old = names->places;
	size_t count = names->place_slots;

	names->place_slots *= 2;
	names->places = cli_alloc(names->place_slots * sizeof(struct cli_place *));
	memset(names->places, 0, names->place_slots * sizeof(struct cli_place *));
	for (size_t i = 0; i < count; i++)
		if (old[i])
			*place_slot(names, old[i]->module, old[i]->address, old[i]->class_key) =
				old[i];
	free(old);
}

const struct cli_place *cli_names_of(struct cli_names *names, const char *module, uint64_t address,
				     uint64_t class_key)
{
	struct cli_place **slot;
	struct cli_place *place;
	uint32_t number = 0;

	while (number < names->module_count && strcmp(names->modules[number].name, module) != 0)
		number++;
	if (number == names->module_count)
		return NULL;
	slot = place_slot(names, number, address, class_key);
	if (*slot)
		return *slot;
	place = cli_alloc(sizeof(*place));
	*place = (struct cli_place){ .module = number, .address = address, .class_key = class_key };
	name_place(names, place);
	*slot = place;
	if (++names->place_count > names->place_slots / 2)
		grow_places(names);
	return place;
}

const char *cli_names_why(const struct cli_module *module)
{
	struct rdr_symbols *symbols;
	struct rdr_symbol found;
	int count;

	if (module->path[0] != '/')
		return "it is no file";
	if (module->is_ambiguous)
		return "two files of that name were mapped, and frames do not say which";
	if (access(module->path, F_OK) != 0)
		return "the file is not there";
	if (access(module->path, R_OK) != 0)
		return "the file may not be read";
	/* Without its build-id, is there a name? Then it is the build-id that differs. */
	symbols = rdr_symbols_create();
	count = symbols ? rdr_symbols_resolve(symbols, module->path, NULL, module->an_address,
					      &found, 1)
			: 0;
	rdr_symbols_destroy(symbols);
	return count > 0 && *module->build_id
		       ? "the file there is another build than was recorded (build-id differs)"
		       : "the file has no symbols there";
}
