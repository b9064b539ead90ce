/*
 * Modules, their symbol tables and debug information (symbols.h), by elfutils' libdwfl.
 *
 * In: paths and addresses. Out: names. A module is loaded once: its functions become one array
 * sorted by address, so that an address costs a binary search; DWARF is only asked where there is
 * any. Results are kept, since the same frames come again and again. Never here: the network
 * (debuginfod).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>

#include "reader/analysis/symbols.h"
#include "recorder/base/hash.h"
#include "recorder/base/util.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define BUILD_ID_MAX 64
#define CACHE_SLOTS (1u << 15)
#define CACHE_FILL (CACHE_SLOTS / 2)
#define MODULE_BUCKETS 256u
#define INLINE_MAX 16 /* functions inlined into each other at one address */
#define LOOK_BACK 8   /* symbols that overlap: how far an enclosing one may lie before */

struct function {
	uint64_t address, size;
	const char *name; /* libdwfl's */
	uint8_t rank;	  /* of several at one address the smallest is taken */
};

struct module {
	struct module *next;
	char *path;
	char *build_id;
	Dwfl *dwfl; /* NULL: nothing usable */
	Dwfl_Module *file;
	struct function *functions;
	size_t count;
	int has_dwarf;
};

struct cached {
	const struct module *module;
	uint64_t address;
	int count;
	struct rdr_symbol *symbols;
};

struct rdr_symbols {
	struct module *buckets[MODULE_BUCKETS];
	struct cached *cache;
	size_t cached;
};

struct rdr_symbols *rdr_symbols_create(void)
{
	struct rdr_symbols *set = calloc(1, sizeof(*set));

	if (set)
		set->cache = calloc(CACHE_SLOTS, sizeof(*set->cache));
	if (set && !set->cache) {
		free(set);
		return NULL;
	}
	return set;
}

static void module_destroy(struct module *module)
{
	if (module->dwfl)
		dwfl_end(module->dwfl);
	free(module->functions);
	free(module->build_id);
	free(module->path);
	free(module);
}

static void cache_clear(struct rdr_symbols *set)
{
	for (size_t i = 0; i < CACHE_SLOTS; i++)
		free(set->cache[i].symbols);
	memset(set->cache, 0, CACHE_SLOTS * sizeof(*set->cache));
	set->cached = 0;
}

void rdr_symbols_destroy(struct rdr_symbols *set)
{
	if (!set)
		return;
	cache_clear(set);
	free(set->cache);
	for (size_t i = 0; i < MODULE_BUCKETS; i++) {
		while (set->buckets[i]) {
			struct module *module = set->buckets[i];

			set->buckets[i] = module->next;
			module_destroy(module);
		}
	}
	free(set);
}

static void hex(const unsigned char *bytes, int count, char *text)
{
	for (int i = 0; i < count; i++)
		sprintf(text + 2 * i, "%02x", bytes[i]);
	text[2 * count] = 0;
}

static int open_at(const char *path, char **name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		*name = strdup(path);
	return fd;
}

/* Separate debug information: by build-id, else by the name in .gnu_debuglink or .gnu_debugaltlink.
 */
static int find_debug(Dwfl_Module *file, void **user, const char *name, Dwarf_Addr base,
		      const char *file_name, const char *link, GElf_Word crc, char **debug_name)
{
	const unsigned char *id = NULL;
	GElf_Addr at;
	int count = dwfl_module_build_id(file, &id, &at);
	char path[4096], text[2 * BUILD_ID_MAX + 1];
	const char *slash = file_name ? strrchr(file_name, '/') : NULL;
	int folder = slash ? (int)(slash - file_name) : 0;
	int fd = -1;

	(void)user;
	(void)name;
	(void)base;
	(void)crc;
	if (link && link[0] == '/')
		return open_at(link, debug_name);
	if (count > 2 && count <= BUILD_ID_MAX && !(link && strchr(link, '/'))) {
		hex(id, count, text);
		snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", text, text + 2);
		fd = open_at(path, debug_name);
	}
	if (fd >= 0 || !link || !slash)
		return fd;
	snprintf(path, sizeof(path), "%.*s/.debug/%s", folder, file_name, link);
	fd = open_at(path, debug_name);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), DEBUG_ROOT "%.*s/%s", folder, file_name, link);
	return open_at(path, debug_name);
}

static int no_elf(Dwfl_Module *file, void **user, const char *name, Dwarf_Addr base,
		  char **file_name, Elf **elf)
{
	(void)file;
	(void)user;
	(void)name;
	(void)base;
	(void)file_name;
	(void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = find_debug,
	.section_address = dwfl_offline_section_address,
};

/* Names without leading underscores first ("read" before "__read"), then global ones. */
static uint8_t rank_of(const GElf_Sym *symbol, const char *name)
{
	size_t underscores = strspn(name, "_");

	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		underscores = 0;
	return (uint8_t)(2 * min_u64(underscores, 100) +
			 (GELF_ST_BIND(symbol->st_info) == STB_LOCAL));
}

static int by_address(const void *a, const void *b)
{
	const struct function *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	/* Empty ones first, so that the search from behind meets the real one. */
	if (!left->size != !right->size)
		return left->size ? 1 : -1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? 1 : -1;
	return strcmp(right->name, left->name);
}

static void load_functions(struct module *module)
{
	int count = dwfl_module_getsymtab(module->file);

	if (count <= 0)
		return;
	module->functions = calloc((size_t)count, sizeof(*module->functions));
	for (int i = 0; i < count && module->functions; i++) {
		struct function *function = &module->functions[module->count];
		GElf_Word section;
		GElf_Addr address;
		GElf_Sym symbol;
		const char *name = dwfl_module_getsym_info(module->file, i, &symbol, &address,
							   &section, NULL, NULL);
		unsigned type = GELF_ST_TYPE(symbol.st_info);

		if (!name || !*name || section == SHN_UNDEF ||
		    (type != STT_FUNC && type != STT_GNU_IFUNC))
			continue;
		*function =
			(struct function){ address, symbol.st_size, name, rank_of(&symbol, name) };
		module->count++;
	}
	if (module->count)
		qsort(module->functions, module->count, sizeof(*module->functions), by_address);
}

/* The file's build-id must be the recorded one, where that is known. */
static int is_same_file(Dwfl_Module *file, const char *build_id)
{
	const unsigned char *id;
	char text[2 * BUILD_ID_MAX + 1];
	GElf_Addr at;
	int count;

	if (!build_id[0])
		return 1;
	count = dwfl_module_build_id(file, &id, &at);
	if (count <= 0 || count > BUILD_ID_MAX)
		return 0;
	hex(id, count, text);
	return strcmp(text, build_id) == 0;
}

/* Gives libdwfl one file, at its own addresses. */
static int report_file(struct module *module, const char *path)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!dwfl)
		return -1;
	module->file = dwfl_report_elf(dwfl, path, path, -1, 0, true);
	dwfl_report_end(dwfl, NULL, NULL);
	if (!module->file || !is_same_file(module->file, module->build_id)) {
		dwfl_end(dwfl);
		module->file = NULL;
		return -1;
	}
	module->dwfl = dwfl;
	return 0;
}

static void load_module(struct module *module)
{
	char path[sizeof(DEBUG_ROOT) + 2 * BUILD_ID_MAX + 32];
	Dwarf_Addr bias;

	if (module->path[0] != '/' || report_file(module, module->path)) {
		/* Replaced or gone since: its debug file may still be there. */
		if (strlen(module->build_id) < 6 || strlen(module->build_id) > 2 * BUILD_ID_MAX)
			return;
		snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug",
			 module->build_id, module->build_id + 2);
		if (report_file(module, path))
			return;
	}
	load_functions(module);
	module->has_dwarf = dwfl_module_getdwarf(module->file, &bias) != NULL;
}

static struct module *find_module(struct rdr_symbols *set, const char *path, const char *build_id)
{
	uint64_t hash = hash_bytes(path, strlen(path), hash_bytes(build_id, strlen(build_id), 0));
	struct module **bucket = &set->buckets[hash % MODULE_BUCKETS];
	struct module *module;

	for (module = *bucket; module; module = module->next)
		if (strcmp(module->path, path) == 0 && strcmp(module->build_id, build_id) == 0)
			return module;
	module = calloc(1, sizeof(*module));
	if (!module)
		return NULL;
	module->path = strdup(path);
	module->build_id = strdup(build_id);
	if (!module->path || !module->build_id) {
		module_destroy(module);
		return NULL;
	}
	load_module(module);
	module->next = *bucket;
	*bucket = module;
	return module;
}

/* The function that holds an address; NULL when it lies between two. */
static const struct function *find_function(const struct module *module, uint64_t address)
{
	size_t low = 0, high = module->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (module->functions[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; i > 0 && low - i < LOOK_BACK; i--) {
		const struct function *function = &module->functions[i - 1];

		if (address - function->address < function->size)
			return function;
		/* Assembler code often tells no size: then up to the next symbol. */
		if (!function->size && i == low && low < module->count)
			return function;
	}
	return NULL;
}

static int line_at(const struct module *module, uint64_t address)
{
	Dwfl_Line *line = dwfl_module_getsrc(module->file, address);
	int number = -1;

	if (line && dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) && number > 0)
		return number;
	return -1;
}

static void name_from_die(Dwarf_Die *die, struct rdr_symbol *symbol)
{
	Dwarf_Attribute attribute;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		name = dwarf_formstring(&attribute);
	if (!name)
		name = dwarf_diename(die);
	rdr_symbols_demangle(name ? name : "", symbol);
}

/*
 * Walks from the innermost scope outwards: each inlined subroutine is a frame, and says where it
 * was called, which is the line of the frame behind it. `symbols[count - 1]` is the function
 * itself.
 */
static int add_inlined(const struct module *module, uint64_t address, struct rdr_symbol *symbols,
		       int max)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(module->file, address, &bias);
	Dwarf_Die *scopes = NULL, *chain = NULL;
	int line = line_at(module, address);
	int found = unit ? dwarf_getscopes(unit, address - bias, &scopes) : 0;
	int depth = found > 0 ? dwarf_getscopes_die(&scopes[0], &chain) : 0;
	int count = 0;

	for (int i = 0; i < depth && count < max; i++) {
		int tag = dwarf_tag(&chain[i]);
		Dwarf_Attribute attribute;
		Dwarf_Word called;

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		memset(&symbols[count], 0, sizeof(*symbols));
		name_from_die(&chain[i], &symbols[count]);
		symbols[count].line = line;
		symbols[count].is_inlined = tag == DW_TAG_inlined_subroutine;
		count++;
		if (tag == DW_TAG_subprogram)
			break;
		line = dwarf_attr(&chain[i], DW_AT_call_line, &attribute) &&
				       dwarf_formudata(&attribute, &called) == 0
			       ? (int)called
			       : -1;
	}
	free(chain);
	free(scopes);
	return count;
}

static int resolve(const struct module *module, uint64_t address, struct rdr_symbol *symbols,
		   int max)
{
	const struct function *function = find_function(module, address);
	int count = module->has_dwarf ? add_inlined(module, address, symbols, max) : 0;

	if (count && symbols[count - 1].name[0])
		return count;
	if (!function || max < 1)
		return 0;
	memset(&symbols[0], 0, sizeof(*symbols));
	rdr_symbols_demangle(function->name, &symbols[0]);
	symbols[0].line = module->has_dwarf ? line_at(module, address) : -1;
	return 1;
}

static struct cached *find_cached(struct rdr_symbols *set, const struct module *module,
				  uint64_t address)
{
	size_t at = hash_mix((uintptr_t)module * 31 + address) & (CACHE_SLOTS - 1);

	while (set->cache[at].module &&
	       (set->cache[at].module != module || set->cache[at].address != address))
		at = (at + 1) & (CACHE_SLOTS - 1);
	return &set->cache[at];
}

static void keep(struct rdr_symbols *set, struct cached *slot, const struct module *module,
		 uint64_t address, const struct rdr_symbol *symbols, int count)
{
	size_t bytes = (size_t)count * sizeof(*symbols);
	struct rdr_symbol *copy = count ? malloc(bytes) : NULL;

	if (count && !copy)
		return;
	if (count)
		memcpy(copy, symbols, bytes);
	*slot = (struct cached){ module, address, count, copy };
	set->cached++;
}

int rdr_symbols_resolve(struct rdr_symbols *set, const char *path, const char *build_id,
			uint64_t address, struct rdr_symbol *symbols, int max)
{
	struct module *module = find_module(set, path, build_id ? build_id : "");
	struct rdr_symbol all[INLINE_MAX];
	struct cached *slot;
	int count;

	if (!module || !module->file)
		return 0;
	if (set->cached >= CACHE_FILL)
		cache_clear(set);
	slot = find_cached(set, module, address);
	if (slot->module) {
		count = slot->count < max ? slot->count : max;
		if (count > 0)
			memcpy(symbols, slot->symbols, (size_t)count * sizeof(*symbols));
		return count;
	}
	count = resolve(module, address, all, INLINE_MAX);
	keep(set, slot, module, address, all, count);
	count = count < max ? count : max;
	if (count > 0)
		memcpy(symbols, all, (size_t)count * sizeof(*symbols));
	return count;
}
