/*
 * Values as the `jfr` command of JDK 17 writes them: spans, times of day, ISO dates, amounts.
 *
 * In: numbers with known units. Out: text in a struct cli_out. Never here: which field has which
 * unit (field_view.h).
 */
#ifndef HOLTER_TOOLS_JFR_TEXT_H
#define HOLTER_TOOLS_JFR_TEXT_H

#include "tools/out.h"

/* A span or a moment since the epoch, wider than 64 bits of nanoseconds. nanos is 0..999999999. */
struct cli_span {
	int64_t seconds;
	int32_t nanos;
};

/* A number of units as a span: `per_second` of them make a second (1 to 10^9, a power of ten). */
struct cli_span cli_span_of(int64_t value, int64_t per_second);

/* "0.641 ms", "1.25 s", "2 m 5 s": three digits that matter. */
void cli_text_span(struct cli_out *out, struct cli_span span);

/* java.time.Duration: "PT0.000641S". */
void cli_iso_span(struct cli_out *out, struct cli_span span);

/* "16:51:28.518", in the zone that is `offset_s` east of Greenwich. */
void cli_text_time(struct cli_out *out, struct cli_span moment, int32_t offset_s);

/* java.time.OffsetDateTime: "2026-11-30T16:51:28.518123456Z". */
void cli_iso_time(struct cli_out *out, struct cli_span moment, int32_t offset_s);

/* "yyyy-mm-dd hh:mm:ss", UTC. */
void cli_text_date(struct cli_out *out, struct cli_span moment);

/* "7.3 kB", "1 byte", "15.2 Mbps". */
void cli_text_amount(struct cli_out *out, int64_t amount, bool is_bits, bool is_per_second);

/* 0.0123 as "1.23%". */
void cli_text_percent(struct cli_out *out, double value);

/* "0x7FDA0018A620", at least eight digits. */
void cli_text_address(struct cli_out *out, uint64_t address);

#endif
