/*
 * ProcessStart (program_start.h).
 */
#include "preload/program_start.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "preload/scratch.h"
#include "recorder/base/text.h"
#include "recorder/sys/raw.h"

static uint32_t directory_id(struct rec_thread *thread, struct pre_scratch *scratch)
{
	long length = raw_syscall3(SYS_getcwd, (long)scratch->text, sizeof(scratch->text), 0);

	return length > 1 ? rec_string(thread, scratch->text, (size_t)length - 1) : 0;
}

/* The arguments, separated by blanks; what does not fit is cut. */
static uint32_t command_id(struct rec_thread *thread, struct pre_scratch *scratch,
			   char *const argv[])
{
	char *at = scratch->text;
	char *end = scratch->text + sizeof(scratch->text);

	*at = 0;
	for (size_t i = 0; argv[i] && at + 1 < end; i++) {
		if (i > 0)
			at = text_copy(at, end, " ");
		at = text_copy(at, end, argv[i]);
	}
	return rec_string(thread, scratch->text, (size_t)(at - scratch->text));
}

void pre_program_start(uint64_t start, uint64_t end, uint32_t pid, char *const argv[])
{
	struct rec_thread *thread;
	struct pre_scratch *scratch;

	if (!pre_gate_any(PRE_GATE(PROCESS)) || !rec_wanted(EV_ProcessStart, end - start))
		return;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_ProcessStart))
		return;
	struct ev_ProcessStart event = {
		.stack = rec_stack(thread, EV_ProcessStart),
		.pid = pid,
	};

	scratch = pre_scratch_take();
	if (scratch) {
		event.directory = directory_id(thread, scratch);
		event.command = argv ? command_id(thread, scratch, argv) : 0;
		pre_scratch_give(scratch);
	}
	rec_emit_ProcessStart(thread, start, end, &event);
}

static bool is_executable(const char *path)
{
	return raw_syscall3(SYS_faccessat, AT_FDCWD, (long)path, X_OK) == 0;
}

bool pre_program_exists(const char *file, bool is_searched)
{
	const char *path = getenv("PATH");
	struct pre_scratch *scratch;
	bool is_there = false;

	if (!file || !*file)
		return false;
	if (!is_searched || strchr(file, '/'))
		return is_executable(file);
	if (!path)
		path = "/bin:/usr/bin"; /* what libc takes then */
	scratch = pre_scratch_take();
	if (!scratch)
		return true;
	while (!is_there) {
		size_t length = strcspn(path, ":");
		char *end = scratch->text + sizeof(scratch->text);

		/* An empty entry is the working folder. */
		if (length < sizeof(scratch->text) / 2) {
			memcpy(scratch->text, path, length);
			text_copy(text_copy(scratch->text + length, end, length ? "/" : "./"), end,
				  file);
			is_there = is_executable(scratch->text);
		}
		if (path[length] == 0)
			break;
		path += length + 1;
	}
	pre_scratch_give(scratch);
	return is_there;
}
