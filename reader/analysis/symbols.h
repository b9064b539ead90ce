/*
 * Addresses of files to names of functions, with inlined ones, lines and parameters where the debug
 * information tells them.
 *
 * In: a module's path and build-id, an address as its file counts (virtual address). Out: names,
 * demangled. Sources: .symtab, .dynsym, .gnu_debugdata, DWARF, and separate debug files below
 * /usr/lib/debug; the network is never asked. A file whose build-id is another one is not used:
 * wrong names are worse than none. Never here: recordings.
 */
#ifndef HOLTER_READER_ANALYSIS_SYMBOLS_H
#define HOLTER_READER_ANALYSIS_SYMBOLS_H

#include <stdint.h>

#define RDR_SYMBOL_BYTES 256

struct rdr_symbols;

/* One function at an address; inlined ones give several, innermost first. */
struct rdr_symbol {
	char name[RDR_SYMBOL_BYTES];	   /* demangled, without parameters; "" = unknown */
	char parameters[RDR_SYMBOL_BYTES]; /* "int, char const*"; "" = none known */
	int32_t line;			   /* -1 unknown */
	uint8_t is_cplusplus;
	uint8_t is_inlined; /* into the one behind it */
};

/**
 * rdr_symbols_create() - an empty set of modules; files are opened when first asked for.
 *
 * Return: the set, ours until rdr_symbols_destroy(); NULL without memory. Context: any thread.
 */
struct rdr_symbols *rdr_symbols_create(void);

/**
 * rdr_symbols_resolve() - names of one address.
 * @module: path of the file.
 * @build_id: hexadecimal; NULL or "" = not known, the file is taken as it is.
 * @address: virtual address in that file.
 * @symbols: out, `max` of them.
 *
 * Return: how many were filled; 0 = unknown.
 * Context: one thread at a time per set; allocates; reads files at the first address of a module.
 */
int rdr_symbols_resolve(struct rdr_symbols *set, const char *module, const char *build_id,
			uint64_t address, struct rdr_symbol *symbols, int max);

/**
 * rdr_symbols_demangle() - a raw symbol name to name and parameters; marks of the compiler for
 * parts of functions (".cold", ".constprop.0") and versions ("@@GLIBC_2.14") are taken off.
 *
 * Return: nothing; line and is_inlined are left alone. Context: any thread; allocates.
 */
void rdr_symbols_demangle(const char *raw, struct rdr_symbol *symbol);

/* Gives everything back; NULL is ignored. Return: nothing. Context: any thread. */
void rdr_symbols_destroy(struct rdr_symbols *set);

#endif
