/*
 * Finding secrets by the names around them.
 *
 * In: text. Out: text with asterisks. Never here: reading the environment itself.
 */
#include "recorder/dump/mask.h"

#include <strings.h>

#define MASK_BYTES 3u

static const char *const secret_names[] = { "PASS",	   "PWD_", "SECRET",  "TOKEN",	"KEY",
					    "CREDENTIAL",  "AUTH", "PRIVATE", "COOKIE", "SIGNATURE",
					    "CERTIFICATE", "DSN",  "SALT" };
/* Options: "key" alone is too common among them (sort --key=2). */
static const char *const secret_options[] = { "PASS",	"SECRET",  "TOKEN",	 "CREDENTIAL",
					      "APIKEY", "API-KEY", "PRIVATE-KEY" };

static bool contains(const char *text, size_t length, const char *const *words, size_t count)
{
	for (size_t w = 0; w < count; w++) {
		size_t word = strlen(words[w]);

		for (size_t i = 0; i + word <= length; i++)
			if (strncasecmp(text + i, words[w], word) == 0)
				return true;
	}
	return false;
}

bool rec_mask_is_secret(const char *name, size_t length)
{
	return contains(name, length, secret_names, ARRAY_LEN(secret_names));
}

/* Replaces [from, to) by the mask where there is room, else by asterisks. */
static size_t replace(char *text, size_t length, size_t size, size_t from, size_t to)
{
	if (length - (to - from) + MASK_BYTES > size) {
		memset(text + from, '*', to - from);
		return length;
	}
	memmove(text + from + MASK_BYTES, text + to, length - to);
	memset(text + from, '*', MASK_BYTES);
	return length - (to - from) + MASK_BYTES;
}

size_t rec_mask_urls(char *text, size_t length, size_t size)
{
	for (size_t i = 0; i + 3 < length; i++) {
		size_t colon = 0, at = 0;

		if (memcmp(text + i, "://", 3) != 0)
			continue;
		/* Up to the path; the last '@' ends the password, which may hold one itself. */
		for (size_t k = i + 3; k < length; k++) {
			if (text[k] == '/' || text[k] == ' ' || text[k] == 0 || text[k] == '?')
				break;
			if (text[k] == ':' && !colon)
				colon = k;
			if (text[k] == '@' && colon)
				at = k;
		}
		if (colon && at)
			length = replace(text, length, size, colon + 1, at);
		i += 2;
	}
	return length;
}

/* End of the argument that begins at `start`. */
static size_t argument_end(const char *text, size_t length, size_t start)
{
	while (start < length && text[start])
		start++;
	return start;
}

size_t rec_mask_arguments(char *text, size_t length, size_t size)
{
	bool hide_next = false;

	for (size_t start = 0; start < length;) {
		size_t end = argument_end(text, length, start);
		char *equals = memchr(text + start, '=', end - start);
		size_t name_end = equals ? (size_t)(equals - text) : end;
		bool is_option = end > start && text[start] == '-';
		bool is_secret = is_option && contains(text + start, name_end - start,
						       secret_options, ARRAY_LEN(secret_options));

		if (hide_next && !is_option && end > start)
			length = replace(text, length, size, start, end);
		else if (is_secret && equals)
			length = replace(text, length, size, name_end + 1, end);
		hide_next = is_secret && !equals;
		start = argument_end(text, length, start) + 1;
	}
	while (length > 0 && text[length - 1] == 0)
		length--;
	for (size_t i = 0; i < length; i++)
		if (text[i] == 0)
			text[i] = ' ';
	return rec_mask_urls(text, length, size);
}
