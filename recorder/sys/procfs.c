/*
 * Reads and parses /proc (procfs.h).
 *
 * In: pids and text. Out: numbers. Never here: anything kept between two calls.
 */
#include "recorder/sys/procfs.h"

#include <fcntl.h>

#include "recorder/base/text.h"
#include "recorder/sys/raw.h"

struct entry64 {
	uint64_t inode;
	int64_t offset;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static const char *skip_blanks(const char *at)
{
	while (*at == ' ' || *at == '\t')
		at++;
	return at;
}

static const char *skip_word(const char *at)
{
	while (*at && *at != ' ' && *at != '\t' && *at != '\n')
		at++;
	return skip_blanks(at);
}

/* Digits at `at`; 0 when there are none (also for negative numbers). */
static uint64_t number_at(const char *at)
{
	uint64_t value = 0;

	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

bool rec_proc_stat_parse(const char *text, struct rec_proc_stat *stat)
{
	const char *open = strchr(text, '(');
	const char *close = strrchr(text, ')');
	uint64_t field[25] = { 0 };
	size_t length;
	const char *at;

	/* The name may hold anything, also brackets and blanks. */
	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	length = min_u64((uint64_t)(close - open - 1), sizeof(stat->name) - 1);
	memcpy(stat->name, open + 1, length);
	stat->name[length] = 0;
	stat->state = close[2];
	at = skip_word(close + 2);
	for (unsigned i = 4; i < ARRAY_LEN(field); i++) {
		if (!*at || *at == '\n')
			return false;
		field[i] = number_at(at);
		at = skip_word(at);
	}
	stat->ppid = (uint32_t)field[4];
	stat->user_ticks = field[14];
	stat->system_ticks = field[15];
	stat->threads = (uint32_t)field[20];
	stat->start_time = field[22];
	stat->rss_pages = field[24];
	return true;
}

void rec_proc_path(char path[REC_PROC_PATH], uint32_t pid, uint32_t tid, const char *file)
{
	struct text text = text_init(path, REC_PROC_PATH);

	text_put(&text, "/proc/");
	text_put_u64(&text, pid);
	if (tid) {
		text_put(&text, "/task/");
		text_put_u64(&text, tid);
	}
	text_put(&text, "/");
	text_put(&text, file);
}

long rec_proc_read(uint32_t pid, uint32_t tid, const char *file, char *buffer, size_t size)
{
	char path[REC_PROC_PATH];

	rec_proc_path(path, pid, tid, file);
	buffer[0] = 0;
	return raw_read_file(path, buffer, size);
}

bool rec_proc_stat_read(uint32_t pid, uint32_t tid, struct rec_proc_stat *stat)
{
	char buffer[640];

	return rec_proc_read(pid, tid, "stat", buffer, sizeof(buffer)) > 0 &&
	       rec_proc_stat_parse(buffer, stat);
}

bool rec_proc_alive(uint32_t pid, uint64_t start_time)
{
	struct rec_proc_stat stat;

	if (!rec_proc_stat_read(pid, 0, &stat))
		return false;
	if (start_time && stat.start_time != start_time)
		return false;
	/* A main thread that called pthread_exit is a zombie too, counted with the living ones. */
	return (stat.state != 'Z' && stat.state != 'X') || stat.threads > 1;
}

bool rec_proc_machine_parse(const char *text, struct rec_proc_machine *machine)
{
	const char *at = text;
	uint64_t value;

	memset(machine, 0, sizeof(*machine));
	if (strncmp(at, "cpu ", 4) != 0)
		return false;
	at = skip_word(at);
	/* user nice system idle iowait irq softirq steal; guest times are parts of user and nice */
	for (unsigned i = 0; i < 8 && *at >= '0' && *at <= '9'; i++, at = skip_word(at)) {
		value = number_at(at);
		machine->total_ticks += value;
		if (i == 3 || i == 4)
			machine->idle_ticks += value;
	}
	for (at = strchr(text, '\n'); at; at = strchr(at + 1, '\n')) {
		if (strncmp(at, "\ncpu", 4) == 0)
			machine->processors++;
		else
			break;
	}
	if (at && rec_proc_number(at + 1, "ctxt", &value))
		machine->switches = value;
	return true;
}

bool rec_proc_number(const char *text, const char *name, uint64_t *value)
{
	size_t length = strlen(name);

	while (text && *text) {
		const char *next = strchr(text, '\n');

		if (strncmp(text, name, length) == 0 &&
		    (text[length] == ' ' || text[length] == '\t')) {
			text = skip_blanks(text + length);
			if (*text < '0' || *text > '9')
				return false;
			*value = number_at(text);
			return true;
		}
		text = next ? next + 1 : NULL;
	}
	return false;
}

const char *rec_proc_interface_next(const char *at, struct rec_proc_interface *interface)
{
	const char *end, *colon;
	size_t length;

	/* The two lines of headings have no colon. */
	for (;; at = end + 1) {
		end = at + strcspn(at, "\n");
		colon = at + strcspn(at, ":\n");
		if (*colon == ':')
			break;
		if (!*end)
			return NULL;
	}
	at = skip_blanks(at);
	length = min_u64((uint64_t)(colon - at), sizeof(interface->name) - 1);
	memcpy(interface->name, at, length);
	interface->name[length] = 0;
	at = skip_blanks(colon + 1);
	interface->read_bytes = number_at(at);
	for (unsigned i = 0; i < 8; i++)
		at = skip_word(at);
	interface->written_bytes = number_at(at);
	return *end ? end + 1 : end;
}

uint64_t rec_proc_open_files_limit(const char *text)
{
	const char *at = strstr(text, "Max open files");

	if (!at)
		return 0;
	at = skip_blanks(at + sizeof("Max open files") - 1);
	return strncmp(at, "unlimited", 9) == 0 ? UINT64_MAX : number_at(at);
}

bool rec_proc_list_open(struct rec_proc_list *list, const char *path)
{
	list->fd = raw_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	list->used = 0;
	list->have = 0;
	return list->fd >= 0;
}

bool rec_proc_list_next(struct rec_proc_list *list, uint32_t *number)
{
	for (;;) {
		const struct entry64 *entry;
		uint64_t value;

		if (list->used >= list->have) {
			long got = raw_syscall3(SYS_getdents64, list->fd, (long)list->buffer,
						sizeof(list->buffer));

			if (got <= 0)
				return false;
			list->have = (uint32_t)got;
			list->used = 0;
		}
		entry = (const struct entry64 *)((const char *)list->buffer + list->used);
		list->used += entry->bytes;
		if (text_parse_u64(entry->name, strlen(entry->name), &value) || value > UINT32_MAX)
			continue;
		*number = (uint32_t)value;
		return true;
	}
}

void rec_proc_list_close(struct rec_proc_list *list)
{
	raw_close(list->fd);
	list->fd = -1;
}
