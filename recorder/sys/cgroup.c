/*
 * Finds and reads control groups (cgroup.h).
 *
 * /proc/PID/cgroup:    4:memory:/user/x      or, version 2,  0::/user.slice/x
 * /proc/PID/mountinfo: 36 25 0:31 /root /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
 *                              ^ part of the hierarchy that is mounted here
 */
#include "recorder/sys/cgroup.h"

#include "recorder/base/text.h"
#include "recorder/sys/procfs.h"
#include "recorder/sys/raw.h"

#define UNLIMITED_FROM (1ull << 60) /* version 1 says "none" by a number like 2^63 - 4096 */
#define LEVELS_MAX 32

/* A word of a line, not ended by NUL. */
struct word {
	const char *at;
	size_t count;
};

static struct word next_word(const char **at, const char *end, char separator)
{
	struct word word = { *at, 0 };

	while (*at < end && **at != separator)
		(*at)++;
	word.count = (size_t)(*at - word.at);
	if (*at < end)
		(*at)++;
	return word;
}

static const char *line_end(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end : at + strlen(at);
}

/* Is `name` one of the words between commas? */
static bool list_has(struct word list, const char *name)
{
	const char *at = list.at, *end = list.at + list.count;

	while (at < end) {
		struct word word = next_word(&at, end, ',');

		if (text_equal(word.at, word.count, name))
			return true;
	}
	return false;
}

/* The path of a process in the hierarchy of a controller; NULL: version 2's. */
static bool find_path(const char *cgroup, const char *controller, struct word *path)
{
	while (*cgroup) {
		const char *at = cgroup, *end = line_end(cgroup);
		struct word number = next_word(&at, end, ':');
		struct word list = next_word(&at, end, ':');

		*path = (struct word){ at, (size_t)(end - at) };
		if (controller ? list_has(list, controller)
			       : !list.count && text_equal(number.at, number.count, "0"))
			return true;
		cgroup = *end ? end + 1 : end;
	}
	return false;
}

/* Mount point and mounted root of a controller's hierarchy; NULL: version 2's. */
static bool find_mount(const char *info, const char *controller, struct word *root,
		       struct word *point)
{
	while (*info) {
		const char *at = info, *end = line_end(info);
		struct word word, type, options;

		for (unsigned i = 0; i < 3; i++)
			next_word(&at, end, ' ');
		*root = next_word(&at, end, ' ');
		*point = next_word(&at, end, ' ');
		do
			word = next_word(&at, end, ' ');
		while (at < end && !text_equal(word.at, word.count, "-"));
		type = next_word(&at, end, ' ');
		next_word(&at, end, ' ');
		options = next_word(&at, end, ' ');
		if (controller ? text_equal(type.at, type.count, "cgroup") &&
					 list_has(options, controller)
			       : text_equal(type.at, type.count, "cgroup2"))
			return true;
		info = *end ? end + 1 : end;
	}
	return false;
}

/* Mount point + path below the mounted root; a path outside it (another namespace) is the root. */
static void join_folder(struct word root, struct word point, struct word path, uint32_t version,
			struct rec_cgroup_folder *folder)
{
	struct text text = text_init(folder->path, sizeof(folder->path));

	if (root.count == 1)
		root.count = 0;
	if (path.count >= root.count && memcmp(path.at, root.at, root.count) == 0 &&
	    (path.count == root.count || path.at[root.count] == '/')) {
		path.at += root.count;
		path.count -= root.count;
	} else {
		path.count = 0;
	}
	if (path.count >= 3 && memcmp(path.at, "/..", 3) == 0)
		path.count = 0;
	if (path.count == 1)
		path.count = 0;
	text_put_bytes(&text, point.at, point.count);
	folder->mount_length = (uint32_t)text.used;
	text_put_bytes(&text, path.at, path.count);
	folder->version = version;
	if (text.is_cut)
		folder->path[0] = 0;
}

static bool locate(const char *cgroup, const char *mountinfo, const char *controller,
		   struct rec_cgroup_folder *folder)
{
	struct word root, point, path;

	folder->path[0] = 0;
	if (find_path(cgroup, controller, &path) &&
	    find_mount(mountinfo, controller, &root, &point))
		join_folder(root, point, path, 1, folder);
	else if (find_path(cgroup, NULL, &path) && find_mount(mountinfo, NULL, &root, &point))
		join_folder(root, point, path, 2, folder);
	return folder->path[0] != 0;
}

bool rec_cgroup_locate(const char *cgroup, const char *mountinfo,
		       struct rec_cgroup_folders *folders)
{
	bool has_cpu = locate(cgroup, mountinfo, "cpu", &folders->cpu);
	bool has_memory = locate(cgroup, mountinfo, "memory", &folders->memory);

	return has_cpu || has_memory;
}

/* A number at the start of a text; false for "max", "-1" and anything else. */
static bool leading_number(const char *text, uint64_t *value)
{
	size_t count = strspn(text, "0123456789");

	return count && text_parse_u64(text, count, value) == 0;
}

static uint64_t millis(uint64_t quota, uint64_t period)
{
	if (!period || quota > UINT64_MAX / 1000)
		return REC_CGROUP_UNLIMITED;
	return quota * 1000 / period;
}

uint64_t rec_cgroup_cpu_max(const char *text)
{
	const char *blank = strchr(text, ' ');
	uint64_t quota, period;

	if (!blank || !leading_number(text, &quota) || !leading_number(blank + 1, &period))
		return REC_CGROUP_UNLIMITED;
	return millis(quota, period);
}

uint64_t rec_cgroup_cpu_quota(const char *quota_text, const char *period_text)
{
	uint64_t quota, period;

	if (!leading_number(quota_text, &quota) || !leading_number(period_text, &period))
		return REC_CGROUP_UNLIMITED;
	return millis(quota, period);
}

uint64_t rec_cgroup_bytes(const char *text)
{
	uint64_t bytes;

	if (!leading_number(text, &bytes) || bytes >= UNLIMITED_FROM)
		return REC_CGROUP_UNLIMITED;
	return bytes;
}

/* Reads a small file of a group; "" when it is not there. */
static const char *read_small(const char *folder, const char *file, char buffer[256])
{
	char path[REC_CGROUP_PATH + 32];
	struct text text = text_init(path, sizeof(path));

	text_put(&text, folder);
	text_put(&text, file);
	buffer[0] = 0;
	if (raw_read_file(path, buffer, 256) < 0)
		buffer[0] = 0;
	return buffer;
}

static uint64_t cpu_limit(const char *folder, uint32_t version)
{
	char first[256], second[256];

	if (version == 2)
		return rec_cgroup_cpu_max(read_small(folder, "/cpu.max", first));
	return rec_cgroup_cpu_quota(read_small(folder, "/cpu.cfs_quota_us", first),
				    read_small(folder, "/cpu.cfs_period_us", second));
}

static uint64_t memory_limit(const char *folder, uint32_t version)
{
	char buffer[256];

	return rec_cgroup_bytes(read_small(
		folder, version == 2 ? "/memory.max" : "/memory.limit_in_bytes", buffer));
}

/* The lowest limit on the way from the group up to its mount. */
static uint64_t lowest(const struct rec_cgroup_folder *folder,
		       uint64_t (*limit)(const char *folder, uint32_t version))
{
	char path[REC_CGROUP_PATH];
	uint64_t result = REC_CGROUP_UNLIMITED;

	if (!folder->path[0])
		return result;
	memcpy(path, folder->path, sizeof(path));
	for (unsigned level = 0; level < LEVELS_MAX; level++) {
		size_t length = strlen(path);

		result = min_u64(result, limit(path, folder->version));
		if (length <= folder->mount_length)
			break;
		while (length > folder->mount_length && path[length - 1] != '/')
			length--;
		path[length > folder->mount_length ? length - 1 : length] = 0;
	}
	return result;
}

void rec_cgroup_read(const struct rec_cgroup_folders *folders, struct rec_cgroup *group)
{
	const struct rec_cgroup_folder *memory = &folders->memory;
	char buffer[256];
	uint64_t value;

	memset(group, 0, sizeof(*group));
	group->cpu_millis = lowest(&folders->cpu, cpu_limit);
	group->memory_limit = lowest(memory, memory_limit);
	if (folders->cpu.path[0]) {
		read_small(folders->cpu.path, "/cpu.stat", buffer);
		if (rec_proc_number(buffer, "nr_throttled", &value))
			group->throttled_periods = value;
		if (rec_proc_number(buffer, "throttled_usec", &value))
			group->throttled_ns = value * 1000;
		else if (rec_proc_number(buffer, "throttled_time", &value))
			group->throttled_ns = value;
	}
	if (memory->path[0] &&
	    leading_number(
		    read_small(memory->path,
			       memory->version == 2 ? "/memory.current" : "/memory.usage_in_bytes",
			       buffer),
		    &value))
		group->memory_used = value;
}
