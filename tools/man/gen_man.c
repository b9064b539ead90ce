/*
 * Writes the manual pages that come from tables: `gen_man events` is holter-events(7), `gen_man
 * settings` is holter-settings(7).
 *
 * In: events.def by way of ev_types, settings.def. Out: a page on stdout. Never here: text about
 * one event or key, which belongs into its row.
 */
#include <stdio.h>
#include <string.h>

#include "recorder/base/util.h"
#include "recorder/format/schema.h"

/* Roff text: backslashes and leading dots mean something to the formatter. */
static void put_text(const char *text)
{
	if (*text == '.' || *text == '\'')
		fputs("\\&", stdout);
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else if (*text == '-')
			fputs("\\-", stdout);
		else
			putchar(*text);
	}
}

static void put_span(unsigned threshold_us)
{
	if (threshold_us % 1000 == 0)
		printf("%u ms", threshold_us / 1000);
	else
		printf("%u us", threshold_us);
}

/* "default: from 1 ms on, with stacks" */
static void put_preset(const char *name, const struct ev_type *type, const struct ev_preset *preset)
{
	printf("%s: ", name);
	if (!preset->enabled) {
		fputs("off", stdout);
		return;
	}
	if (type->gate == EV_GATE_LEADER)
		fputs("every interval", stdout);
	else if (type->gate == EV_GATE_DUMP)
		fputs("in every dump", stdout);
	else if ((type->shape & EV_HAS_DURATION) && preset->threshold_us > 0) {
		fputs("from ", stdout);
		put_span(preset->threshold_us);
		fputs(" on", stdout);
	} else
		fputs("each", stdout);
	if (type->shape & EV_HAS_STACK)
		fputs(preset->stack ? ", with stacks" : ", without stacks", stdout);
}

/* The unit of a field, from the annotation that files carry. */
static const char *unit_of(const struct ev_kind_info *kind)
{
	static const struct {
		const char *annotation, *argument, *text;
	} units[] = {
		{ "DataAmount", "BYTES", "bytes" },    { "DataAmount", "BITS", "bits" },
		{ "Timespan", "NANOSECONDS", "ns" },   { "Timespan", "MILLISECONDS", "ms" },
		{ "Timespan", "TICKS", "ticks" },      { "Timestamp", NULL, "time" },
		{ "Percentage", NULL, "1.0 = 100 %" }, { "Frequency", NULL, "Hz" },
		{ "MemoryAddress", NULL, "address" },
	};

	for (size_t i = 0; kind->annotation && i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].annotation, kind->annotation) == 0 &&
		    (!units[i].argument ||
		     (kind->argument && strcmp(units[i].argument, kind->argument) == 0)))
			return units[i].text;
	return NULL;
}

static void put_field(const struct ev_field *field)
{
	const struct ev_kind_info *kind = &ev_kinds[field->kind];
	const char *unit = unit_of(kind);

	if (field->role == EV_ROLE_HIDDEN || !kind->jfr_type)
		return;
	printf(".br\n\\fB%s\\fR  %s", field->name, kind->jfr_type);
	if (unit)
		printf(", %s", unit);
	fputs("  (", stdout);
	put_text(field->label);
	fputs(")\n", stdout);
}

static void put_event(const struct ev_type *type)
{
	printf(".TP\n.B %s\n", type->name);
	put_text(type->description);
	fputs(".\n.br\n", stdout);
	put_preset("default", type, &type->preset_default);
	fputs("; ", stdout);
	put_preset("profile", type, &type->preset_profile);
	fputs("\n", stdout);
	for (uint32_t i = 0; i < type->field_count; i++)
		put_field(&type->fields[i]);
}

static void events_page(void)
{
	const char *category = "";

	puts(".TH HOLTER\\-EVENTS 7 \"\" \"holter " HOLTER_VERSION "\" \"Holter\"\n"
	     ".SH NAME\nholter\\-events \\- every event that Holter records\n"
	     ".SH DESCRIPTION\n"
	     "Every event has \\fBstartTime\\fR. Those with a duration have \\fBduration\\fR, "
	     "those of\n"
	     "a thread \\fBeventThread\\fR, those with stacks \\fBstackTrace\\fR. Names that begin "
	     "with\n"
	     "jdk. have the meaning and fields of the JDK, so that its tools show them. For each "
	     "event:\n"
	     "what it tells, what the presets record, its fields. The preset \\fBeverything\\fR "
	     "records\n"
	     "each event, from 0 ns on, with stacks.");
	for (uint32_t i = 0; i < ev_type_count; i++) {
		if (strcmp(ev_types[i].category, category) != 0) {
			category = ev_types[i].category;
			fputs(".SS ", stdout);
			put_text(category);
			fputs("\n", stdout);
		}
		put_event(&ev_types[i]);
	}
	puts(".SH SEE ALSO\n.BR holter (1),\n.BR holter\\-settings (7),\n.BR holter\\-format (5)");
}

static const struct {
	const char *name, *value, *values, *text;
	int live;
} settings[] = {
#define SETTING(name, kind, value, live, values, text) { #name, value, values, text, live },
#include "recorder/format/settings.def"
};

static void put_setting(size_t i)
{
	printf(".TP\n.BI %s= ", settings[i].name);
	puts("value");
	put_text(settings[i].text);
	fputs(". Values: ", stdout);
	put_text(settings[i].values);
	if (settings[i].value[0]) {
		fputs(". Default: ", stdout);
		put_text(settings[i].value);
	}
	fputs(settings[i].live ? ". May be changed while the program runs.\n"
			       : ". Fixed when the program starts.\n",
	      stdout);
}

static void settings_page(void)
{
	puts(".TH HOLTER\\-SETTINGS 7 \"\" \"holter " HOLTER_VERSION "\" \"Holter\"\n"
	     ".SH NAME\nholter\\-settings \\- keys of the variable HOLTER, of holter run \\-o and "
	     "of\n"
	     "holter configure\n"
	     ".SH SYNOPSIS\n"
	     "HOLTER=\"\\fIkey\\fR=\\fIvalue\\fR,\\fIkey\\fR=\\fIvalue\\fR,"
	     "\\fIEvent\\fR#\\fIsetting\\fR=\\fIvalue\\fR\"\n"
	     ".SH DESCRIPTION\n"
	     "Items are separated by commas, in files by lines; a line that begins with # is a\n"
	     "comment. Later items win. Times are written 10ns, 10us, 10ms, 10s, 10m, 10h; sizes "
	     "64k,\n"
	     "16M, 1G.\n.SH KEYS");
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		put_setting(i);
	puts(".SH SETTINGS OF EVENTS\n"
	     "An event is named as in holter\\-events(7), with or without its package: SocketRead "
	     "is\n"
	     "jdk.SocketRead.\n"
	     ".TP\n.IB Event #enabled= true|false\nrecord it at all\n"
	     ".TP\n.IB Event #threshold= time\nrecord those that took at least so long\n"
	     ".TP\n.IB Event #stackTrace= true|false\nwith the stack of the thread\n"
	     ".TP\n.IB Event #period= time\ndistance of a periodic event; default: interval\n"
	     ".TP\n.IB Event #sample= n\nrecord one of n\n"
	     ".SH EXAMPLE\n.nf\n"
	     "HOLTER=\"dir=/var/"
	     "tmp,memory=64M,settings=profile,SocketRead#threshold=1ms,alloc=all\"\n.fi\n"
	     ".SH SEE ALSO\n.BR holter (1),\n.BR holter\\-run (1),\n.BR holter\\-configure (1),\n"
	     ".BR holter\\-events (7)");
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "events") == 0)
		events_page();
	else if (argc == 2 && strcmp(argv[1], "settings") == 0)
		settings_page();
	else {
		fputs("usage: gen_man events|settings\n", stderr);
		return 2;
	}
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
