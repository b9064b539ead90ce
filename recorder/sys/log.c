/*
 * Appends lines to the log file (log.h).
 */
#include "recorder/sys/log.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "recorder/base/text.h"
#include "recorder/format/holter_error.h"
#include "recorder/sys/raw.h"

#define MARK " holter["
#define MARK_AT 20 /* behind the time stamp */

static void put_two(char *at, unsigned value)
{
	at[0] = (char)('0' + value / 10 % 10);
	at[1] = (char)('0' + value % 10);
}

void rec_log_time(char buffer[21], uint64_t epoch_ns)
{
	uint64_t seconds = epoch_ns / 1000000000u;
	unsigned in_day = (unsigned)(seconds % 86400);
	/* Civil date from days, counting years from March (Howard Hinnant's algorithm). */
	uint64_t days = seconds / 86400 + 719468;
	uint64_t era = days / 146097;
	unsigned of_era = (unsigned)(days % 146097);
	unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * of_year + 2) / 153;
	unsigned day = of_year - (153 * month + 2) / 5 + 1;

	month = month < 10 ? month + 3 : month - 9;
	year += (unsigned)(era * 400) + (month <= 2);
	memcpy(buffer, "0000-00-00T00:00:00Z", 21);
	put_two(buffer, year / 100);
	put_two(buffer + 2, year % 100);
	put_two(buffer + 5, month);
	put_two(buffer + 8, day);
	put_two(buffer + 11, in_day / 3600);
	put_two(buffer + 14, in_day / 60 % 60);
	put_two(buffer + 17, in_day % 60);
}

/* A regular file that is empty or begins as our lines do. */
static bool is_ours(int fd)
{
	char start[MARK_AT + sizeof(MARK) - 1];
	struct stat status;

	if (raw_syscall3(SYS_fstat, fd, (long)&status, 0) || !S_ISREG(status.st_mode))
		return false;
	if (status.st_size == 0)
		return true;
	return raw_pread(fd, start, sizeof(start), 0) == (long)sizeof(start) &&
	       memcmp(start + MARK_AT, MARK, sizeof(MARK) - 1) == 0;
}

/* Moved above 2: a program that closed its own must not find ours there. */
static int open_above_two(const char *path)
{
	int fd = raw_open(
		path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		0600);
	int high = fd;

	if (fd >= 0 && fd <= 2) {
		high = (int)raw_syscall3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
		raw_close(fd);
	}
	return high;
}

int rec_log_line(const char *path, uint64_t epoch_ns, const char *line)
{
	char buffer[REC_LOG_LINE + 64], time[21];
	struct text text = text_init(buffer, REC_LOG_LINE + 63);
	int result = 0;
	int fd;

	if (!path || !*path)
		return 0;
	rec_log_time(time, epoch_ns);
	text_put(&text, time);
	text_put(&text, MARK);
	text_put_u64(&text, (uint64_t)raw_getpid());
	text_put(&text, "]: ");
	text_put_bytes(&text, line, strlen(line));
	buffer[text.used] = '\n';
	fd = open_above_two(path);
	if (fd < 0)
		return HOLTER_E_OPEN;
	if (!is_ours(fd))
		result = HOLTER_E_PERMISSION;
	else if (raw_write(fd, buffer, text.used + 1) != (long)text.used + 1)
		result = HOLTER_E_WRITE;
	raw_close(fd);
	return result;
}
