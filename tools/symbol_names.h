/*
 * Names for the addresses of a recording, with the keys they get as constants of its file.
 *
 * In: modules of the recording, addresses in them. Out: frames: method key, line, kind. Never here:
 * bytes of chunks (cmd_symbolize.c).
 */
#ifndef HOLTER_TOOLS_SYMBOL_NAMES_H
#define HOLTER_TOOLS_SYMBOL_NAMES_H

#include "recorder/base/util.h"

#define CLI_INLINED_MAX 16

struct rdr_symbols;

/* A file that was mapped while the program was recorded. */
struct cli_module {
	char *path;
	char *build_id;		       /* hexadecimal; "" = not known */
	const char *name;	       /* of the file, without folder: what frames call it */
	bool is_ambiguous;	       /* another file of this name was mapped too */
	uint64_t resolved, unresolved; /* addresses */
	uint64_t an_address;	       /* one that was not resolved */
};

/* A constant: its key and the chunk it was last written to. */
struct cli_symbol {
	char *text;
	uint64_t key;
	uint64_t chunk;
};

struct cli_method {
	uint64_t class_key; /* as in the file */
	uint32_t name;	    /* index of struct cli_symbol */
	uint32_t descriptor;
	uint64_t key;
	uint64_t chunk;
};

enum cli_frame_kind { CLI_FRAME_NATIVE, CLI_FRAME_CPLUSPLUS, CLI_FRAME_INLINED, CLI_FRAME_KINDS };

struct cli_name {
	uint32_t method; /* index of struct cli_method */
	int32_t line;
	uint8_t kind; /* enum cli_frame_kind */
};

/* What an address is called; innermost first. */
struct cli_place {
	uint32_t module;
	uint32_t count; /* 0: unknown */
	uint64_t address;
	uint64_t class_key;
	struct cli_name names[CLI_INLINED_MAX];
};

struct cli_names {
	struct rdr_symbols *symbols_of_files;
	struct cli_module *modules;
	size_t module_count;
	struct cli_symbol *symbols;
	size_t symbol_count;
	struct cli_method *methods;
	size_t method_count;
	struct cli_place **places; /* open addressing */
	size_t place_slots;
	size_t place_count;
	uint32_t *symbol_slots; /* index + 1, open addressing by text */
	size_t symbol_slot_count;
	uint64_t next_symbol_key;
	uint64_t next_method_key;
};

/**
 * cli_names_init() - no modules. cli_names_fini() - gives everything back.
 *
 * Return: nothing. Context: one thread, as everything here.
 */
void cli_names_init(struct cli_names *names);
void cli_names_fini(struct cli_names *names);

/**
 * cli_names_module() - enters a mapped file.
 * @path, @build_id: copied.
 *
 * Return: nothing. Context: see above.
 */
void cli_names_module(struct cli_names *names, const char *path, const char *build_id);

/**
 * cli_names_of() - what an address is called.
 * @module: name of the file, as frames have it.
 * @address: virtual address in the file.
 * @class_key: of the Class constant of that file.
 *
 * Return: the place, count 0 where it has no name; NULL when no such module is known.
 * Context: see above; reads files.
 */
const struct cli_place *cli_names_of(struct cli_names *names, const char *module, uint64_t address,
				     uint64_t class_key);

/**
 * cli_names_why() - why nothing of a module was resolved.
 *
 * Return: a constant text. Context: see above; reads files.
 */
const char *cli_names_why(const struct cli_module *module);

#endif
