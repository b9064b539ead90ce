/*
 * Symbols for dumps: lends reader/analysis/symbols to the writer of recordings.
 *
 * In: the writer's questions. Out: struct rec_symbol. Only in processes of the tools, never inside
 * a recorded program.
 */
#ifndef HOLTER_TOOLS_SYMBOLIZER_H
#define HOLTER_TOOLS_SYMBOLIZER_H

#include "recorder/dump/dump.h"

/**
 * cli_symbolizer() - the symbolizer of this process.
 *
 * Return: it; NULL without memory. Context: one thread.
 */
const struct rec_symbolizer *cli_symbolizer(void);

#endif
