/*
 * Configuration: from the text of HOLTER (or `holter run -o`, or a file) to the settings of a
 * region.
 *
 * In: "key=value,key=value,Event#setting=value". Out: struct rec_config, and by rec_config_apply()
 * the settings page, header fields and configuration text of a region. Keys: format/settings.def.
 * Works in the constructor of a recorded program: no malloc, no stdio, errno untouched. Never here:
 * printing, or deciding what to do about a wrong key.
 *
 *   struct rec_config config;            // 6 KiB: static, or on a stack known to be large
 *   struct rec_config_report report;
 *   rec_config_defaults(&config);
 *   rec_config_parse(&config, getenv("HOLTER"), 0, &report);
 *   rec_region_create(&region, config.memory_bytes, pid, start_time);
 *   rec_config_apply(&config, &region, &report);
 */
#ifndef HOLTER_ENGINE_CONFIG_H
#define HOLTER_ENGINE_CONFIG_H

#include "recorder/region/region.h"

#define REC_CONFIG_PATH 1024u
#define REC_CONFIG_SAMPLE_BYTES (512u << 10)
#define REC_CONFIG_DEPTH_MAX 200u

/* NONE: nothing but what is made while dumping, until `configure` turns events on. */
enum rec_preset { REC_PRESET_DEFAULT, REC_PRESET_PROFILE, REC_PRESET_EVERYTHING, REC_PRESET_NONE };
enum rec_leader_mode { REC_LEADER_PROCESS, REC_LEADER_THREAD, REC_LEADER_NONE };

/* Numbers of the keys, for `given` and rec_config_keys. */
enum rec_config_key {
#define SETTING(name, kind, value, live, values, text) REC_CONFIG_##name,
#include "recorder/format/settings.def"
	REC_CONFIG_KEY_COUNT
};

/* What the user set for one event; `set` tells which of the others count. */
enum rec_config_set {
	REC_CONFIG_SET_ENABLED = 1,
	REC_CONFIG_SET_THRESHOLD = 2,
	REC_CONFIG_SET_STACK = 4,
	REC_CONFIG_SET_PERIOD = 8,
	REC_CONFIG_SET_SAMPLE = 16,
};
struct rec_config_event {
	uint8_t set;
	uint8_t is_enabled;
	uint8_t has_stack;
	uint8_t reserved;
	uint32_t period_ms;
	uint32_t sample;
	uint64_t threshold_ns;
};

/* Fixed size, no pointers. */
struct rec_config {
	uint64_t memory_bytes;	 /* a multiple of REC_CHUNK_BYTES */
	uint64_t alloc_interval; /* mean bytes between two samples */
	uint32_t given;		 /* bit (1 << enum rec_config_key): the user wrote this key */
	uint32_t recording;	 /* 1; 0 after `holter stop` */
	uint32_t preset;	 /* enum rec_preset */
	uint32_t leader;	 /* enum rec_leader_mode */
	uint32_t memory_mode;	 /* enum rec_memory_mode, from `alloc` */
	uint32_t lock_mode;	 /* enum rec_lock_mode */
	int32_t signal;		 /* 0 = none */
	uint32_t dump_on_exit;
	uint32_t children;
	uint32_t stack_depth;
	uint32_t compress;
	uint32_t interval_ms;
	char dir[REC_CONFIG_PATH]; /* "" = the starting folder, or /tmp */
	char log[REC_CONFIG_PATH]; /* "" = none */
	struct rec_config_event event[EV_NUMBER_MAX];
};

/* What was wrong with a text. */
struct rec_config_report {
	int code;	   /* of the first complaint: HOLTER_E_*; 0 = none */
	uint32_t count;	   /* complaints */
	uint32_t position; /* of the first: bytes from the start of the text; of its line in a file
			    */
	uint32_t reserved;
	char text[1024]; /* one line for people; several complaints are joined by "; " */
};

struct rec_config_key_info {
	const char *name;
	const char *value; /* default */
	const char *values;
	const char *text;
	int is_live;
};
extern const struct rec_config_key_info rec_config_keys[REC_CONFIG_KEY_COUNT];

/* How rec_config_parse() takes a text. */
#define REC_CONFIG_STRICT 1u /* stop at the first wrong item; else leave it out and go on */
#define REC_CONFIG_LIVE 2u   /* a running program: keys that are fixed are wrong (HOLTER_E_FIXED) */
#define REC_CONFIG_NO_FILES 4u /* never open a file: the text comes from a region */

/**
 * rec_config_defaults() - the configuration when nothing is said.
 *
 * Return: nothing. Context: any; async-signal-safe.
 */
void rec_config_defaults(struct rec_config *config);

/**
 * rec_config_parse() - applies a text to a configuration.
 * @text: may be NULL. A comma or newline ends an item; inside parentheses, or behind a backslash, a
 *	comma belongs to the value. Lines that begin with '#' are comments.
 * @flags: REC_CONFIG_*.
 * @report: out: emptied first.
 *
 * Files named by config= and settings= are read first, wherever they stand.
 *
 * Return: 0; strict: the code of the first wrong item, what stood before it is applied; else the
 *number of items left out. Context: any thread; system calls for the files; no allocation; 4 KiB of
 *stack.
 */
int rec_config_parse(struct rec_config *config, const char *text, unsigned flags,
		     struct rec_config_report *report);

/**
 * rec_config_setting() - what is in force for one event under a configuration.
 * @type: of the catalog.
 * @threshold_ns: out.
 *
 * Return: flags (REC_EVENT_*), period, sample and threshold_us; threshold_ticks is 0.
 * Context: any; async-signal-safe.
 */
struct rec_event_setting rec_config_setting(const struct rec_config *config,
					    const struct ev_type *type, uint64_t *threshold_ns);

/**
 * rec_config_apply() - puts a configuration in force in a region.
 * @region: writable; a new one, or one in use.
 * @report: of the parse; its text is kept in the region for `holter check`; NULL keeps the old one.
 *
 * Hooks may look at any moment: an event's threshold stands before its gate opens and falls after
 * it closed. Relative folders become absolute. The memory size is not looked at: it is the
 * region's.
 *
 * Return: 0; HOLTER_E_LIMIT the text did not fit and is stored shortened (all settings are in
 * force). Context: one at a time per region (tools lock the region file); no allocation; 5 KiB of
 * stack.
 */
int rec_config_apply(struct rec_config *config, struct rec_region *region,
		     const struct rec_config_report *report);

/**
 * rec_config_load() - the configuration in force in a region; the reverse of rec_config_apply().
 *
 * Return: 0; HOLTER_E_CORRUPT when its text is damaged (defaults stand in for what cannot be read).
 * Context: any process; no allocation; 12 KiB of stack.
 */
int rec_config_load(struct rec_config *config, const struct rec_region *region);

/**
 * rec_config_print() - a configuration as text that rec_config_parse() reads again.
 *
 * Return: 0, HOLTER_E_LIMIT when it was cut (between two items). Context: any; async-signal-safe.
 */
int rec_config_print(const struct rec_config *config, char *buffer, size_t size);

/**
 * rec_config_problems() - what was wrong with the texts a region was configured from.
 * @buffer: out, NUL-ended; "" when nothing was.
 *
 * Return: bytes. Context: any process.
 */
size_t rec_config_problems(const struct rec_region *region, char *buffer, size_t size);

#endif
