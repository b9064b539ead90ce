/*
 * What /proc tells about the machine.
 *
 * In: /proc, /etc/os-release. Out: events once per dump. Where a file is missing, so is its event.
 */
#include "recorder/dump/once_write.h"

#include <fcntl.h>

#include "recorder/base/text.h"
#include "recorder/dump/mask.h"
#include "recorder/sys/raw.h"

#define CPU_FILE_BYTES (1u << 20)
#define PROCESSES_MAX 4096u

/* First line that begins with `key`: its value behind `separator`, up to the end of the line. */
static size_t value_of(const char *text, const char *key, char separator, const char **value)
{
	size_t length = strlen(key);

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n'), line += line != NULL) {
		const char *at, *end;

		if (strncmp(line, key, length) != 0)
			continue;
		end = strchrnul(line, '\n');
		at = memchr(line, separator, (size_t)(end - line));
		if (!at)
			continue;
		at++;
		while (*at == ' ' || *at == '"')
			at++;
		*value = at;
		length = at < end ? (size_t)(end - at) : 0;
		while (length > 0 && (at[length - 1] == '"' || at[length - 1] == ' '))
			length--;
		return length;
	}
	*value = "";
	return 0;
}

static void write_os(struct rec_once *once)
{
	char file[4096], buffer[1024];
	struct text text = text_init(buffer, sizeof(buffer));
	struct ev_OSInformation event = { .osVersion = 0 };
	const char *value;
	size_t length;

	if (raw_read_file("/etc/os-release", file, sizeof(file)) > 0) {
		length = value_of(file, "PRETTY_NAME", '=', &value);
		text_put_bytes(&text, value, length);
	}
	if (raw_read_file("/proc/version", file, sizeof(file)) > 0) {
		length = strcspn(file, "\n");
		text_put(&text, text.used ? ", uname: " : "uname: ");
		text_put_bytes(&text, file, length);
	}
	event.osVersion = rec_once_string(once, buffer);
	rec_once_event(once, EV_OSInformation, &event);
}

static uint32_t count_lines(const char *text, const char *key)
{
	size_t length = strlen(key);
	uint32_t count = 0;

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n'), line += line != NULL)
		count += strncmp(line, key, length) == 0;
	return count;
}

/* Number of different values of "physical id", which are small. */
static uint32_t count_sockets(const char *text)
{
	uint64_t seen = 0;

	for (const char *at = text; (at = strstr(at, "physical id")) != NULL; at++) {
		const char *colon = strchr(at, ':');
		uint32_t number = 0;

		for (colon += colon != NULL;
		     colon && (*colon == ' ' || (*colon >= '0' && *colon <= '9')); colon++)
			if (*colon != ' ')
				number = number * 10 + (uint32_t)(*colon - '0');
		seen |= 1ull << (number & 63);
	}
	return seen ? (uint32_t)__builtin_popcountll(seen) : 1;
}

static void describe_cpu(struct text *text, const char *file)
{
	static const char *const keys[][2] = {
		{ "model name", "Brand: " },	{ "vendor_id", ", Vendor: " },
		{ "cpu family", ", Family: " }, { "model\t", ", Model: " },
		{ "stepping", ", Stepping: " }, { "cpu MHz", ", MHz: " },
		{ "cache size", ", Cache: " }
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *value;
		size_t length = value_of(file, keys[i][0], ':', &value);

		if (length == 0)
			continue;
		text_put(text, keys[i][1]);
		text_put_bytes(text, value, length);
	}
}

static void write_cpu(struct rec_once *once)
{
	struct rec_vec file = { NULL, 0, 0 };
	struct ev_CPUInformation event = { .sockets = 1 };
	char buffer[1024];
	struct text text = text_init(buffer, sizeof(buffer));
	uint64_t cores = 0;
	const char *value;
	size_t length;

	if (!rec_vec_grow(&file, CPU_FILE_BYTES))
		return;
	if (raw_read_file("/proc/cpuinfo", (char *)file.data, CPU_FILE_BYTES) > 0) {
		const char *all = (const char *)file.data;

		event.sockets = count_sockets(all);
		event.hwThreads = count_lines(all, "processor");
		length = value_of(all, "cpu cores", ':', &value);
		if (text_parse_u64(value, length, &cores) != 0)
			cores = event.hwThreads;
		event.cores = (uint32_t)cores * event.sockets;
		length = value_of(all, "model name", ':', &value);
		event.cpu = rec_pools_local(once->encoder->pools, value, length);
		describe_cpu(&text, all);
		event.description = rec_once_string(once, buffer);
		rec_once_event(once, EV_CPUInformation, &event);
	}
	rec_vec_free(&file);
}

static void write_clock(struct rec_once *once)
{
	struct ev_TimeStampCounter event = {
		.fastTimeEnabled = once->clock->is_tsc != 0,
		.fastTimeAutoEnabled = once->clock->is_tsc != 0,
		.osFrequency = 1000000000,
		.fastTimeFrequency = once->clock->ticks_per_second,
	};

	rec_once_event(once, EV_TimeStampCounter, &event);
}

/* One process of the machine, by its folder in /proc. */
static void write_process(struct rec_once *once, const char *name)
{
	char path[64], command[4096];
	char *end = path + sizeof(path);
	struct ev_SystemProcess event = { .pid = 0 };
	long length;

	text_copy(text_copy(text_copy(path, end, "/proc/"), end, name), end, "/cmdline");
	length = raw_read_file(path, command, sizeof(command) - 64);
	if (length < 0)
		return;
	if (length == 0) {
		/* A kernel thread has a name only. */
		text_copy(text_copy(text_copy(path, end, "/proc/"), end, name), end, "/comm");
		length = raw_read_file(path, command, sizeof(command) - 64);
		length = length < 0 ? 0 : (long)strcspn(command, "\n");
	}
	event.pid = rec_once_string(once, name);
	event.commandLine =
		rec_pools_local(once->encoder->pools, command,
				rec_mask_arguments(command, (size_t)length, sizeof(command)));
	rec_once_event(once, EV_SystemProcess, &event);
}

struct directory_entry {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static void write_processes(struct rec_once *once)
{
	char buffer[4096] __attribute__((aligned(8)));
	int fd = raw_open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	uint32_t count = 0;
	long got;

	if (fd < 0)
		return;
	while ((got = raw_syscall3(SYS_getdents64, fd, (long)buffer, sizeof(buffer))) > 0) {
		for (long at = 0; at < got && count < PROCESSES_MAX;) {
			const struct directory_entry *entry = (const void *)(buffer + at);

			if (entry->name[0] >= '1' && entry->name[0] <= '9') {
				write_process(once, entry->name);
				count++;
			}
			at += entry->bytes;
		}
	}
	raw_close(fd);
}

void rec_once_machine(struct rec_once *once)
{
	if (rec_once_wants(once, EV_OSInformation))
		write_os(once);
	if (rec_once_wants(once, EV_CPUInformation))
		write_cpu(once);
	if (rec_once_wants(once, EV_TimeStampCounter))
		write_clock(once);
	if (rec_once_has_everything(once) && rec_once_wants(once, EV_SystemProcess))
		write_processes(once);
}
