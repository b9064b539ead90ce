/*
 * Frames and the constants they need.
 *
 * In: addresses. Out: pools of Class, Method and Symbol, and encoded StackFrames. Every Method has
 * a Class, name and descriptor, every Class a name, or readers fail (jfr-format T6, T7).
 */
#include "recorder/dump/frames.h"

#include "recorder/base/text.h"
#include "recorder/format/jfr.h"

#define MODIFIER_NATIVE 0x100u
#define PATH_BYTES 4096u
#define DESCRIPTOR_BYTES 1024u

/* What one frame says. */
struct frame {
	uint32_t class_key;
	const char *name;
	const char *descriptor;
	int32_t line;
	uint8_t type;
};

int rec_frames_init(struct rec_frames *frames, const struct rec_region *region,
		    const struct rec_symbolizer *symbolizer)
{
	frames->region = region;
	frames->symbolizer = symbolizer;
	if (!rec_vec_grow(&frames->results, REC_FRAME_INLINED * sizeof(struct rec_symbol)))
		return HOLTER_E_NOMEM;
	return rec_module_list_build(&frames->modules, region);
}

uint32_t rec_frames_class(struct rec_frames *frames, const char *name, uint64_t length)
{
	uint32_t symbol = rec_texts_add(&frames->symbols, length ? name : "?", length ? length : 1);
	struct rec_pool *pool = &frames->classes;
	uint32_t key;
	uint8_t *at;

	if (symbol == UINT32_MAX)
		return 0;
	if (rec_map_get(&frames->class_by_symbol, symbol, &key))
		return key;
	at = rec_vec_room(&pool->bytes, 6 * LEB128_MAX_BYTES);
	key = pool->count + 1;
	if (!at || !rec_map_put(&frames->class_by_symbol, symbol, key))
		return 0;
	at = leb128_put(at, key);
	*at++ = 0; /* class loader */
	at = leb128_put(at, symbol);
	*at++ = 0; /* package: would have to be a prefix of the name (T28) */
	*at++ = 0; /* modifiers */
	*at++ = 0; /* hidden */
	pool->bytes.used = (uint64_t)(at - pool->bytes.data);
	pool->count++;
	return key;
}

/* Class of a module: the file's name without its folder. 0 without memory. */
static uint32_t module_class(struct rec_frames *frames, uint32_t module)
{
	const struct rec_module *entry = (const struct rec_module *)frames->modules.modules.data;
	char path[PATH_BYTES];
	const char *name = path;
	uint32_t key;

	if (rec_map_get(&frames->class_by_module, module, &key))
		return key;
	if (rec_names_read(frames->region, entry[module].path, path, sizeof(path)) < 0)
		path[0] = 0;
	for (const char *at = path; *at; at++)
		if (*at == '/' && at[1])
			name = at + 1;
	if (!*name)
		name = "[unknown]";
	key = rec_frames_class(frames, name, strlen(name));
	if (key && !rec_map_put(&frames->class_by_module, module, key))
		return 0;
	return key;
}

static uint32_t method_of(struct rec_frames *frames, const struct frame *frame)
{
	uint32_t name = rec_texts_add(&frames->symbols, frame->name, strlen(frame->name));
	uint32_t descriptor =
		rec_texts_add(&frames->symbols, frame->descriptor, strlen(frame->descriptor));
	uint64_t parts[3] = { frame->class_key, name, descriptor };
	uint64_t hash = hash_words(parts, 3, 0);
	struct rec_pool *pool = &frames->methods;
	uint32_t key;
	uint8_t *at;

	if (name == UINT32_MAX || descriptor == UINT32_MAX || !frame->class_key)
		return 0;
	if (rec_map_get(&frames->method_by_parts, hash, &key))
		return key;
	at = rec_vec_room(&pool->bytes, 6 * LEB128_MAX_BYTES);
	key = pool->count + 1;
	if (!at || !rec_map_put(&frames->method_by_parts, hash, key))
		return 0;
	at = leb128_put(at, key);
	at = leb128_put(at, frame->class_key);
	at = leb128_put(at, name);
	at = leb128_put(at, descriptor);
	at = leb128_put(at, MODIFIER_NATIVE);
	*at++ = 0; /* hidden */
	pool->bytes.used = (uint64_t)(at - pool->bytes.data);
	pool->count++;
	return key;
}

static int add_frame(struct rec_frames *frames, struct rec_frame_span *span,
		     const struct frame *frame)
{
	uint32_t method = method_of(frames, frame);
	uint8_t *at = rec_vec_room(&frames->bytes, 4 * LEB128_MAX_BYTES);
	uint8_t *start = at;

	if (!method || !at)
		return HOLTER_E_NOMEM;
	at = leb128_put(at, method);
	at = leb128_put(at, (uint32_t)frame->line);
	*at++ = 0; /* bytecode index */
	*at++ = frame->type;
	frames->bytes.used += (uint64_t)(at - start);
	span->bytes += (uint32_t)(at - start);
	span->count++;
	return 0;
}

/*
 * "int, char const*" -> "(Lint;Lchar const*;)V": what JFR tools print as the first (jfr-format 6).
 * Commas inside <>, () and [] belong to a parameter; a ';' would end it.
 */
static void descriptor_of(const char *parameters, char *buffer)
{
	struct text text = text_init(buffer, DESCRIPTOR_BYTES);
	int depth = 0, is_open = 0;

	text_put(&text, "(");
	for (const char *at = parameters; *at; at++) {
		char piece[2] = { *at == ';' ? ',' : *at, 0 };

		if (strchr("<([{", *at))
			depth++;
		else if (strchr(">)]}", *at))
			depth--;
		if (*at == ' ' && !is_open)
			continue;
		if (*at == ',' && depth <= 0) {
			if (is_open)
				text_put(&text, ";");
			is_open = 0;
			continue;
		}
		if (!is_open)
			text_put(&text, "L");
		is_open = 1;
		text_put(&text, piece);
	}
	text_put(&text, is_open ? ";)V" : ")V");
	if (text.is_cut)
		memcpy(buffer, "()V", 4);
}

static void hex_build_id(const struct rec_module *module, char *hex)
{
	uint32_t bytes = module->build_id_bytes <= 20 ? module->build_id_bytes : 0;

	for (uint32_t i = 0; i < bytes; i++) {
		hex[2 * i] = "0123456789abcdef"[module->build_id[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[module->build_id[i] & 15];
	}
	hex[2 * bytes] = 0;
}

/* Asks the symbolizer. Return: frames added; 0 unknown; negative an error. */
static int symbolize(struct rec_frames *frames, uint32_t module, uint64_t virtual_address,
		     struct rec_frame_span *span)
{
	const struct rec_module *entry =
		(const struct rec_module *)frames->modules.modules.data + module;
	struct rec_symbol *symbols = (struct rec_symbol *)frames->results.data;
	const struct rec_symbolizer *symbolizer = frames->symbolizer;
	uint32_t class_key = module_class(frames, module);
	char path[PATH_BYTES], build_id[41], descriptor[DESCRIPTOR_BYTES];
	int count;

	if (rec_names_read(frames->region, entry->path, path, sizeof(path)) <= 0)
		return 0;
	hex_build_id(entry, build_id);
	count = symbolizer->resolve(symbolizer->context, path, build_id, virtual_address, symbols,
				    REC_FRAME_INLINED);
	if (count <= 0 || count > REC_FRAME_INLINED)
		return 0;
	for (int i = 0; i < count; i++) {
		struct frame frame = {
			.class_key = class_key,
			.name = symbols[i].name,
			.descriptor = descriptor,
			.line = symbols[i].line > 0 ? symbols[i].line : -1,
			.type = JFR_FRAME_NATIVE,
		};

		symbols[i].name[sizeof(symbols[i].name) - 1] = 0;
		symbols[i].parameters[sizeof(symbols[i].parameters) - 1] = 0;
		if (!symbols[i].name[0])
			continue;
		descriptor_of(symbols[i].parameters, descriptor);
		if (symbols[i].is_inlined)
			frame.type = JFR_FRAME_INLINED;
		else if (symbols[i].is_cplusplus)
			frame.type = JFR_FRAME_CPLUSPLUS;
		int code = add_frame(frames, span, &frame);
		if (code)
			return code;
	}
	return (int)span->count;
}

/* Resolves an address that is not cached. */
static int resolve(struct rec_frames *frames, uint32_t module, uint64_t virtual_address,
		   struct rec_frame_span *span)
{
	char name[20];
	struct text text = text_init(name, sizeof(name));
	struct frame frame = { .name = name, .descriptor = "()V", .line = -1 };

	*span = (struct rec_frame_span){ .offset = frames->bytes.used };
	if (module != REC_NO_MODULE && frames->symbolizer) {
		int code = symbolize(frames, module, virtual_address, span);

		if (code)
			return code < 0 ? code : 0;
	}
	text_put(&text, "0x");
	text_put_hex(&text, virtual_address);
	frame.type = JFR_FRAME_NATIVE;
	frame.class_key = module == REC_NO_MODULE ? rec_frames_class(frames, "[unknown]", 9)
						  : module_class(frames, module);
	return add_frame(frames, span, &frame);
}

/* Number of the span of an address in a file; resolves it at the first time. REC_NONE: no memory.
 */
static uint32_t span_of_place(struct rec_frames *frames, uint32_t module, uint64_t address)
{
	uint64_t parts[4] = { 0, 0, 0, address };
	struct rec_frame_span span;
	uint64_t place;
	uint32_t number;

	if (module != REC_NO_MODULE) {
		const struct rec_module *entry =
			(const struct rec_module *)frames->modules.modules.data + module;

		parts[0] = 1 + (uint64_t)entry->path;
		memcpy(&parts[1], entry->build_id, 16);
		parts[3] = address - entry->bias;
	}
	place = hash_words(parts, 4, 0);
	if (rec_map_get(&frames->by_place, place, &number))
		return number;
	number = (uint32_t)(frames->spans.used / sizeof(span));
	if (resolve(frames, module, parts[3], &span) ||
	    !rec_vec_put(&frames->spans, &span, sizeof(span)) ||
	    !rec_map_put(&frames->by_place, place, number))
		return REC_NONE;
	return number;
}

int rec_frames_of(struct rec_frames *frames, uint32_t context, uint64_t ticks, uint64_t address,
		  struct rec_frame_span *span)
{
	uint64_t key = hash_mix(address) ^ (uint64_t)context << 32 ^ context;
	uint32_t number;

	if (!rec_map_get(&frames->by_address, key, &number)) {
		uint64_t inside = address - 1;
		uint32_t module = rec_module_list_find(&frames->modules, context, ticks, inside);

		number = span_of_place(frames, module, inside);
		if (number == REC_NONE || !rec_map_put(&frames->by_address, key, number))
			return HOLTER_E_NOMEM;
	}
	*span = ((const struct rec_frame_span *)frames->spans.data)[number];
	return 0;
}

void rec_frames_free(struct rec_frames *frames)
{
	rec_module_list_free(&frames->modules);
	rec_texts_free(&frames->symbols);
	rec_vec_free(&frames->classes.bytes);
	rec_vec_free(&frames->methods.bytes);
	rec_map_free(&frames->class_by_symbol);
	rec_map_free(&frames->method_by_parts);
	rec_map_free(&frames->class_by_module);
	rec_map_free(&frames->by_address);
	rec_map_free(&frames->by_place);
	rec_vec_free(&frames->spans);
	rec_vec_free(&frames->bytes);
	rec_vec_free(&frames->results);
}
