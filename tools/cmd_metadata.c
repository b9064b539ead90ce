/*
 * holter metadata: the types of a file, as `jfr metadata` shows them.
 *
 * In: the metadata of every chunk. Out: text that looks like Java classes, or JSON. Never here:
 * events.
 */
#include <stdlib.h>
#include <unistd.h>

#include "tools/cmd_read.h"
#include "tools/out.h"

struct metadata {
	struct cli_out out;
	struct cli_filter filter;
	int64_t *ids; /* of types seen in earlier chunks */
	size_t id_count;
	const struct holter_type **types; /* new ones of the chunk */
	size_t type_count;
	bool is_json;
	bool is_first;
};

/* Plain types, then annotations, settings, events: the groups of jfr. */
static int group_of(const struct holter_type *type)
{
	const char *super = holter_type_super(type);

	if (!super)
		return 1;
	if (strcmp(super, "java.lang.annotation.Annotation") == 0)
		return 3;
	if (strcmp(super, "jdk.jfr.SettingControl") == 0)
		return 4;
	return holter_type_is_event(type) ? 5 : 2;
}

static const char *simple_name(const char *name)
{
	const char *point = strrchr(name, '.');

	return point ? point + 1 : name;
}

/* By group, package, name. */
static int compare_types(const void *a, const void *b)
{
	const struct holter_type *one = *(const struct holter_type *const *)a;
	const struct holter_type *other = *(const struct holter_type *const *)b;
	const char *name = holter_type_name(one);
	const char *other_name = holter_type_name(other);
	size_t package = (size_t)(simple_name(name) - name);
	size_t other_package = (size_t)(simple_name(other_name) - other_name);
	int order = group_of(one) - group_of(other);

	if (order)
		return order;
	order = strncmp(name, other_name, package < other_package ? package : other_package);
	if (order || package == other_package)
		return order ? order : strcmp(name, other_name);
	return package < other_package ? -1 : 1;
}

/* A type as a field shows it: without package, a simple type as what it stands for. */
static const char *shown_type(const struct holter_type *type)
{
	for (int i = 0; type && i < 8 && holter_type_is_simple(type); i++) {
		const struct holter_field *field = holter_type_field(type, 0);

		if (!field || !holter_field_type(field))
			break;
		type = holter_field_type(field);
	}
	return type ? simple_name(holter_type_name(type)) : "<undeclared>";
}

static void put_note_value(struct cli_out *out, const struct holter_field *field, const char *value)
{
	const struct holter_type *type = field ? holter_field_type(field) : NULL;
	bool is_text = !type || holter_type_base(type) == HOLTER_BASE_STRING;

	if (is_text)
		cli_out_char(out, '"');
	cli_out_text(out, value ? value : "null");
	if (is_text)
		cli_out_char(out, '"');
}

/* Attributes `name-0`, `name-1`, ...: how many there are. */
static size_t element_count(const struct holter_annotation *note, const char *name)
{
	size_t length = strlen(name);
	size_t count = 0;

	for (size_t i = 0; i < holter_annotation_value_count(note); i++) {
		const char *key = holter_annotation_key(note, i);

		count += strncmp(key, name, length) == 0 && key[length] == '-';
	}
	return count;
}

static const char *note_value(const struct holter_annotation *note, const char *name, size_t index,
			      bool is_array)
{
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "%s-%zu", name, index);
	for (size_t i = 0; i < holter_annotation_value_count(note); i++)
		if (strcmp(holter_annotation_key(note, i), is_array ? wanted : name) == 0)
			return holter_annotation_value(note, i);
	return NULL;
}

static void put_note_field(struct cli_out *out, const struct holter_annotation *note,
			   const struct holter_field *field)
{
	const char *name = holter_field_name(field);
	size_t count;

	if (!holter_field_is_array(field)) {
		put_note_value(out, field, note_value(note, name, 0, false));
		return;
	}
	count = element_count(note, name);
	if (count != 1)
		cli_out_char(out, '{');
	for (size_t i = 0; i < count; i++) {
		if (i)
			cli_out_text(out, ", ");
		put_note_value(out, field, note_value(note, name, i, true));
	}
	if (count != 1)
		cli_out_char(out, '}');
}

static void put_note(struct cli_out *out, const struct holter_annotation *note, size_t indent)
{
	const struct holter_type *type = holter_annotation_type(note);
	size_t count = type ? holter_type_field_count(type) : 0;

	if (type && strcmp(holter_type_name(type), "jdk.jfr.Name") == 0)
		return;
	cli_out_spaces(out, indent);
	cli_out_char(out, '@');
	cli_out_text(out, type ? simple_name(holter_type_name(type)) : "<undeclared>");
	for (size_t i = 0; i < count; i++) {
		const struct holter_field *field = holter_type_field(type, i);

		cli_out_text(out, i ? ", " : "(");
		if (count > 1 || strcmp(holter_field_name(field), "value") != 0) {
			cli_out_text(out, holter_field_name(field));
			cli_out_char(out, '=');
		}
		put_note_field(out, note, field);
	}
	cli_out_text(out, count ? ")\n" : "\n");
}

static void put_field(struct cli_out *out, const struct holter_field *field)
{
	const struct holter_type *type = holter_field_type(field);
	const char *super = type ? holter_type_super(type) : NULL;

	for (size_t i = 0; i < holter_field_annotation_count(field); i++)
		put_note(out, holter_field_annotation(field, i), 2);
	cli_out_text(out, "  ");
	if (super && strcmp(super, "jdk.jfr.SettingControl") == 0)
		cli_out_text(out, "static ");
	cli_out_text(out, shown_type(type));
	cli_out_text(out, holter_field_is_array(field) ? "[] " : " ");
	cli_out_text(out, holter_field_name(field));
	cli_out_text(out, ";\n");
}

static void put_type(struct cli_out *out, const struct holter_type *type)
{
	const char *name = holter_type_name(type);
	const char *simple = simple_name(name);

	if (simple != name) {
		cli_out_text(out, "@Name(\"");
		cli_out_text(out, name);
		cli_out_text(out, "\")\n");
	}
	for (size_t i = 0; i < holter_type_annotation_count(type); i++)
		put_note(out, holter_type_annotation(type, i), 0);
	cli_out_text(out, "class ");
	cli_out_text(out, simple);
	if (holter_type_super(type)) {
		cli_out_text(out, " extends ");
		cli_out_text(out, holter_type_super(type));
	}
	cli_out_text(out, " {\n");
	for (size_t i = 0; i < holter_type_field_count(type); i++) {
		if (i)
			cli_out_char(out, '\n');
		put_field(out, holter_type_field(type, i));
	}
	cli_out_text(out, "}\n\n");
}

static void put_text_member(struct cli_out *out, const char *name, const char *value)
{
	cli_out_text(out, ", \"");
	cli_out_text(out, name);
	cli_out_text(out, "\": ");
	if (value)
		cli_out_json(out, value, strlen(value));
	else
		cli_out_text(out, "null");
}

static void put_flag(struct cli_out *out, const char *name, bool value)
{
	if (!value)
		return;
	cli_out_text(out, ", \"");
	cli_out_text(out, name);
	cli_out_text(out, "\": true");
}

static void put_json_note(struct cli_out *out, const struct holter_annotation *note)
{
	const struct holter_type *type = holter_annotation_type(note);
	const char *name = type ? holter_type_name(type) : "";

	cli_out_text(out, "{\"type\": ");
	cli_out_json(out, name, strlen(name));
	for (size_t i = 0; i < holter_annotation_value_count(note); i++) {
		const char *key = holter_annotation_key(note, i);

		put_text_member(out, key, holter_annotation_value(note, i));
	}
	cli_out_char(out, '}');
}

static void put_json_field(struct cli_out *out, const struct holter_field *field)
{
	const struct holter_type *type = holter_field_type(field);
	const char *name = holter_field_name(field);

	cli_out_text(out, "\n      {\"name\": ");
	cli_out_json(out, name, strlen(name));
	put_text_member(out, "type", type ? holter_type_name(type) : NULL);
	put_flag(out, "array", holter_field_is_array(field));
	put_flag(out, "constantPool", holter_field_is_pooled(field));
	cli_out_text(out, ", \"annotations\": [");
	for (size_t i = 0; i < holter_field_annotation_count(field); i++) {
		cli_out_text(out, i ? ", " : "");
		put_json_note(out, holter_field_annotation(field, i));
	}
	cli_out_text(out, "]}");
}

static void put_json_type(struct cli_out *out, const struct holter_type *type)
{
	const char *name = holter_type_name(type);

	cli_out_text(out, "\n  {\"name\": ");
	cli_out_json(out, name, strlen(name));
	cli_out_text(out, ", \"id\": ");
	cli_out_i64(out, holter_type_id(type));
	put_text_member(out, "superType", holter_type_super(type));
	put_flag(out, "simpleType", holter_type_is_simple(type));
	cli_out_text(out, ", \"annotations\": [");
	for (size_t i = 0; i < holter_type_annotation_count(type); i++) {
		cli_out_text(out, i ? ", " : "");
		put_json_note(out, holter_type_annotation(type, i));
	}
	cli_out_text(out, "],\n    \"fields\": [");
	for (size_t i = 0; i < holter_type_field_count(type); i++) {
		cli_out_text(out, i ? "," : "");
		put_json_field(out, holter_type_field(type, i));
	}
	cli_out_text(out, "],\n    \"settings\": [");
	for (size_t i = 0; i < holter_type_setting_count(type); i++) {
		const struct holter_setting *setting = holter_type_setting(type, i);
		const char *setting_name = holter_setting_name(setting);

		cli_out_text(out, i ? ", {\"name\": " : "{\"name\": ");
		cli_out_json(out, setting_name, strlen(setting_name));
		put_text_member(out, "default", holter_setting_default(setting));
		cli_out_char(out, '}');
	}
	cli_out_text(out, "]}");
}

static bool is_seen(struct metadata *metadata, const struct holter_type *type)
{
	int64_t id = holter_type_id(type);

	for (size_t i = 0; i < metadata->id_count; i++)
		if (metadata->ids[i] == id)
			return true;
	return false;
}

/* With a filter only events are shown. */
static bool is_shown(struct metadata *metadata, const struct holter_type *type)
{
	if (!metadata->filter.events.text && !metadata->filter.categories.text)
		return true;
	return holter_type_is_event(type) && cli_filter_type(&metadata->filter, type);
}

/* Types of the chunk that no chunk before had. jfr sorts those of all chunks together; as types
 * last only as long as their chunk, later ones follow in an order of their own. */
static void put_chunk(struct metadata *metadata, struct holter_reader *reader)
{
	size_t all = holter_reader_type_count(reader);
	size_t count = 0;
	size_t before = metadata->id_count;

	metadata->types = cli_realloc(metadata->types, all * sizeof(*metadata->types));
	metadata->ids = cli_realloc(metadata->ids, (before + all) * sizeof(*metadata->ids));
	for (size_t i = 0; i < all; i++)
		if (!before || !is_seen(metadata, holter_reader_type(reader, i)))
			metadata->types[count++] = holter_reader_type(reader, i);
	for (size_t i = 0; i < count; i++)
		metadata->ids[metadata->id_count++] = holter_type_id(metadata->types[i]);
	qsort(metadata->types, count, sizeof(*metadata->types), compare_types);
	for (size_t i = 0; i < count; i++) {
		if (!is_shown(metadata, metadata->types[i]))
			continue;
		if (metadata->is_json && !metadata->is_first)
			cli_out_char(&metadata->out, ',');
		metadata->is_first = false;
		if (metadata->is_json)
			put_json_type(&metadata->out, metadata->types[i]);
		else
			put_type(&metadata->out, metadata->types[i]);
		cli_out_settle(&metadata->out);
	}
}

static int print_types(struct cli_input *input, struct metadata *metadata)
{
	int status = 0;
	int code;

	cli_out_init(&metadata->out, STDOUT_FILENO, 0);
	metadata->is_first = true;
	if (metadata->is_json)
		cli_out_text(&metadata->out, "{\"types\": [");
	while ((code = holter_reader_next_chunk(input->reader)) > 0 && !metadata->out.error)
		put_chunk(metadata, input->reader);
	if (metadata->is_json)
		cli_out_text(&metadata->out, "\n]}\n");
	if (code < 0)
		status = cli_read_failed(input, code);
	if (!status)
		status = cli_filter_report(&metadata->filter, input->reader, input->path);
	free(metadata->types);
	free(metadata->ids);
	return cli_out_finish(&metadata->out, "standard output", status);
}

int cli_metadata(int argc, char **argv)
{
	struct cli_filter_options chosen = { .events = NULL };
	struct metadata metadata = { .types = NULL };
	struct cli_input input = { .path = NULL };
	int is_json = 0;
	struct cli_option options[] = {
		{ "events", 0, "GLOBS", "only these event types; with or without package; * ?",
		  NULL, &chosen.events, NULL, NULL },
		{ "categories", 0, "GLOBS", "only event types of these categories", NULL,
		  &chosen.categories, NULL, NULL },
		{ "json", 0, NULL, "the same for programs", &is_json, NULL, NULL, NULL },
		CLI_OPTION_END,
	};
	int first = cli_options(argc, argv, options, 0);
	const char *path;
	int status;

	if (first < 0)
		return -first;
	path = cli_input_operand(argc, argv, first);
	if (!path)
		return CLI_USAGE;
	status = cli_input_open(&input, path);
	if (status)
		return status;
	metadata.is_json = is_json;
	status = cli_input_filter(&input, &chosen, &metadata.filter);
	if (!status)
		status = print_types(&input, &metadata);
	cli_filter_fini(&metadata.filter);
	return cli_input_close(&input, status);
}
