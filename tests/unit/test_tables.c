/*
 * The tables of a region: processes across fork, exec and reuse; threads and their losses; modules,
 * names, own types; live allocations; all of it with random bytes in the region, and from many
 * threads.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/region/tables.h"

#define MEMORY (1u << 20)
#define DEAD_PID 0x7ffffff0u /* above any pid_max */
#define THREADS 8

static struct rec_region region;

static void setup(void)
{
	ck_assert_int_eq(rec_region_create(&region, MEMORY, (uint32_t)getpid(), 1), 0);
	unlink(region.header->path);
}

static void teardown(void)
{
	rec_region_unmap(&region);
}

static uint64_t random_next(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

START_TEST(a_process_is_found_by_pid_and_start_time)
{
	uint32_t a = rec_process_join(&region, 100, 5000, 1, 0);
	uint32_t b = rec_process_join(&region, 101, 5001, 100, rec_process_at(&region, a)->space);

	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(rec_process_find(&region, 100, 5000), a);
	ck_assert_uint_eq(rec_process_find(&region, 101, 0), b);
	ck_assert_uint_eq(rec_process_find(&region, 101, 5000), REC_NONE);
	ck_assert_uint_eq(rec_process_find(&region, 102, 0), REC_NONE);
	ck_assert_uint_eq(rec_process_find(&region, 0, 0), REC_NONE);
	ck_assert_ptr_null(rec_process_at(&region, 2));
	ck_assert_ptr_null(rec_process_at(&region, REC_NONE));
	ck_assert_uint_eq(rec_process_at(&region, a)->flags, REC_PROCESS_EXECUTED);
	ck_assert_uint_eq(rec_process_at(&region, b)->flags, 0);
	ck_assert_uint_eq(rec_process_at(&region, b)->space, rec_process_at(&region, a)->space);
	ck_assert_uint_gt(rec_process_at(&region, a)->start_ticks, 0);
}
END_TEST

START_TEST(a_forked_child_inherits_the_description)
{
	uint32_t parent = rec_process_join(&region, 100, 5000, 1, 0);
	struct rec_process *p = rec_process_at(&region, parent);

	p->executable = 77;
	p->arguments = 78;
	p->arguments_bytes = 12;
	strcpy(p->name, "server");
	uint32_t child = rec_process_join(&region, 101, 5001, 100, p->space);
	struct rec_process *c = rec_process_at(&region, child);

	ck_assert_uint_eq(c->executable, 77);
	ck_assert_uint_eq(c->arguments, 78);
	ck_assert_uint_eq(c->arguments_bytes, 12);
	ck_assert_str_eq(c->name, "server");
}
END_TEST

START_TEST(exec_keeps_the_entry_and_gives_a_new_space)
{
	uint32_t index = rec_process_join(&region, 100, 5000, 1, 0);
	struct rec_process *process = rec_process_at(&region, index);
	uint32_t space = process->space, thread;
	struct rec_module module = { .base = 0x1000, .top = 0x2000, .space = space };
	struct rec_live removed;

	process->flags |= REC_PROCESS_EXECING;
	process->executable = 5;
	thread = rec_thread_join(&region, 100, 100, index, 10, "main");
	uint32_t loaded = rec_module_add(&region, &module);

	ck_assert_int_eq(rec_live_add(&region, index, 0x5000, 16, 512, 1, 100, 10), 1);
	ck_assert_uint_eq(rec_process_join(&region, 100, 5000, 1, 0), index);
	ck_assert_uint_ne(process->space, space);
	ck_assert_uint_eq(process->flags, REC_PROCESS_EXECUTED);
	ck_assert_uint_eq(process->executable, 0);
	/* What lived in the old image is over. */
	ck_assert_uint_ne(rec_thread_at(&region, thread)->end_ticks, 0);
	ck_assert_uint_ne(rec_module_at(&region, loaded)->unload_ticks, 0);
	ck_assert_int_eq(rec_live_remove(&region, index, 0x5000, &removed), 0);
	ck_assert_uint_eq(process->live_samples, 0);
	ck_assert_uint_eq(process->live_bytes, 0);
}
END_TEST

START_TEST(exec_of_a_child_leaves_the_modules_of_its_parent)
{
	uint32_t parent = rec_process_join(&region, 100, 5000, 1, 0);
	uint32_t space = rec_process_at(&region, parent)->space;
	struct rec_module module = { .base = 0x1000, .top = 0x2000, .space = space };
	uint32_t loaded = rec_module_add(&region, &module);

	ck_assert_uint_ne(rec_process_join(&region, 101, 5001, 100, space), REC_NONE);
	ck_assert_uint_ne(rec_process_join(&region, 101, 5001, 100, 0), REC_NONE);
	ck_assert_uint_eq(rec_module_at(&region, loaded)->unload_ticks, 0);
}
END_TEST

START_TEST(a_reused_pid_ends_its_predecessor)
{
	uint32_t old = rec_process_join(&region, 100, 5000, 1, 0);
	uint32_t new = rec_process_join(&region, 100, 9000, 1, 0);

	ck_assert_uint_ne(old, new);
	ck_assert_uint_ne(rec_process_at(&region, old)->end_ticks, 0);
	ck_assert_uint_eq(rec_process_find(&region, 100, 0), new);
}
END_TEST

START_TEST(a_full_process_table_uses_ended_entries_then_dead_ones)
{
	uint32_t me = (uint32_t)getpid();

	for (uint32_t i = 0; i < REC_PROCESS_MAX; i++)
		ck_assert_uint_eq(rec_process_join(&region, i == 5 ? DEAD_PID : me, i + 1, 1, 7),
				  i);
	/* All but the last of this pid were ended on the way; take that back. */
	for (uint32_t i = 0; i < REC_PROCESS_MAX; i++)
		rec_process_at(&region, i)->end_ticks = 0;
	rec_process_leave(&region, 900, 50);
	ck_assert_int_eq(rec_live_add(&region, 900, 0x5000, 16, 512, 1, 100, 10), 1);
	ck_assert_uint_eq(rec_process_join(&region, 1u << 30, 1, 1, 0), 900);
	ck_assert_uint_eq(rec_process_at(&region, 900)->end_ticks, 0);
	ck_assert_uint_eq(rec_process_at(&region, 900)->live_samples, 0);
	/* Now only the one whose pid the kernel does not know, then 900 again: it is dead as well.
	 */
	ck_assert_uint_eq(rec_process_join(&region, me + 1000000000u, 1, 1, 0), 5);
	ck_assert_uint_eq(region.header->live_entries, 0);
}
END_TEST

START_TEST(threads_end_and_their_losses_are_kept)
{
	uint32_t a = rec_thread_join(&region, 100, 200, 0, 10, "a name that is too long");
	struct rec_thread_entry *entry = rec_thread_at(&region, a);

	ck_assert_str_eq(entry->name, "a name that is ");
	ck_assert_uint_eq(entry->tid, 200);
	entry->loss[REC_LOSS_NESTED] = 3;
	entry->loss_bytes = 40;
	rec_thread_leave(&region, a, 99);
	ck_assert_uint_eq(entry->end_ticks, 99);
	ck_assert_uint_eq(region.header->loss[REC_LOSS_NESTED], 3);
	ck_assert_uint_eq(region.header->loss_bytes, 40);
	ck_assert_uint_eq(entry->loss[REC_LOSS_NESTED], 0);
	rec_thread_leave(&region, a, 100);
	ck_assert_uint_eq(entry->end_ticks, 99);
	ck_assert_uint_eq(region.header->loss[REC_LOSS_NESTED], 3);
	rec_thread_leave(&region, REC_NONE, 100);
	ck_assert_uint_eq(region.header->accumulated_threads, 1);
}
END_TEST

START_TEST(thread_entries_are_used_again_in_their_order)
{
	uint32_t process = rec_process_join(&region, (uint32_t)getpid(), 1, 1, 0);

	for (uint32_t i = 0; i < REC_THREAD_MAX; i++)
		ck_assert_uint_eq(
			rec_thread_join(&region, (uint32_t)getpid(), i + 1, process, 1, "t"), i);
	ck_assert_uint_eq(rec_thread_join(&region, (uint32_t)getpid(), 9999, process, 1, "t"),
			  REC_NONE);
	rec_thread_leave(&region, 40, 7);
	rec_thread_leave(&region, 30, 8);
	rec_thread_at(&region, 40)->loss[REC_LOSS_NO_CHUNK] = 2;
	ck_assert_uint_eq(rec_thread_join(&region, (uint32_t)getpid(), 9999, process, 1, "new"),
			  30);
	ck_assert_uint_eq(rec_thread_join(&region, (uint32_t)getpid(), 9998, process, 1, "new"),
			  40);
	/* Even what was lost after the end. */
	ck_assert_uint_eq(region.header->loss[REC_LOSS_NO_CHUNK], 2);
	ck_assert_uint_eq(rec_thread_at(&region, 40)->end_ticks, 0);
	/* A process that ended takes its threads along. */
	rec_process_leave(&region, process, 1000);
	ck_assert_uint_ne(rec_thread_join(&region, 5, 5, 1, 1, "t"), REC_NONE);
}
END_TEST

START_TEST(modules_are_found_again_while_loaded)
{
	struct rec_module module = { .base = 0x7000,
				     .top = 0x8000,
				     .bias = 0x7000,
				     .space = 3,
				     .path = 11,
				     .build_id_bytes = 200 };
	uint32_t a = rec_module_add(&region, &module), b;

	ck_assert_uint_eq(rec_module_add(&region, &module), a);
	ck_assert_uint_eq(rec_module_at(&region, a)->build_id_bytes, 20);
	module.space = 4;
	b = rec_module_add(&region, &module);
	ck_assert_uint_ne(b, a);
	rec_module_unload(&region, 3, 0x7000, 55);
	ck_assert_uint_eq(rec_module_at(&region, a)->unload_ticks, 55);
	ck_assert_uint_eq(rec_module_at(&region, b)->unload_ticks, 0);
	/* Loaded again, perhaps another file at the same place: another entry. */
	module.space = 3;
	ck_assert_uint_ne(rec_module_add(&region, &module), a);
	module.base = 0;
	ck_assert_uint_eq(rec_module_add(&region, &module), REC_NONE);
	ck_assert_ptr_null(rec_module_at(&region, 3));
}
END_TEST

START_TEST(a_full_module_table_uses_what_is_unloaded)
{
	uint32_t process = rec_process_join(&region, (uint32_t)getpid(), 1, 1, 0);
	struct rec_module module = { .space = rec_process_at(&region, process)->space };

	for (uint32_t i = 0; i < REC_MODULE_MAX; i++) {
		module.base = 0x1000ull * (i + 1);
		ck_assert_uint_eq(rec_module_add(&region, &module), i);
	}
	module.base = 0x7f0000000000;
	ck_assert_uint_eq(rec_module_add(&region, &module), REC_NONE);
	rec_module_unload(&region, module.space, 0x1000ull * 801, 5);
	ck_assert_uint_eq(rec_module_add(&region, &module), 800);
	ck_assert_uint_eq(rec_module_at(&region, 800)->unload_ticks, 0);
}
END_TEST

START_TEST(names_are_kept_once)
{
	char buffer[64];
	uint32_t a = rec_names_add(&region, "/lib/libc.so.6", 14);
	uint32_t b = rec_names_add(&region, "/lib/libm.so.6", 14);
	uint32_t empty = rec_names_add(&region, "", 0);

	ck_assert_uint_gt(a, 0);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_eq(rec_names_add(&region, "/lib/libc.so.6 ", 14), a);
	ck_assert_int_eq(rec_names_read(&region, a, buffer, sizeof(buffer)), 14);
	ck_assert_str_eq(buffer, "/lib/libc.so.6");
	ck_assert_int_eq(rec_names_read(&region, a, buffer, 5), 14);
	ck_assert_str_eq(buffer, "/lib");
	ck_assert_int_eq(rec_names_read(&region, a, buffer, 0), 14);
	ck_assert_int_eq(rec_names_read(&region, empty, buffer, sizeof(buffer)), 0);
	ck_assert_str_eq(buffer, "");
	ck_assert_int_eq(rec_names_read(&region, 0, buffer, sizeof(buffer)), HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_names_read(&region, a + 1, buffer, sizeof(buffer)), HOLTER_E_CORRUPT);
	ck_assert_int_eq(rec_names_read(&region, UINT32_MAX, buffer, sizeof(buffer)),
			 HOLTER_E_CORRUPT);
}
END_TEST

START_TEST(long_names_leave_room_for_paths)
{
	static char text[100000];
	char buffer[64];
	uint32_t id, count = 0;

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 100; i++) {
		snprintf(text, 16, "%d", i);
		count += rec_names_add(&region, text, sizeof(text)) != 0;
	}
	ck_assert_uint_ge(count, 5);
	ck_assert_uint_lt(count, 10);
	for (int i = 0; i < 1000; i++) {
		int length = snprintf(buffer, sizeof(buffer), "/usr/lib/lib%d.so", i);

		id = rec_names_add(&region, buffer, (uint32_t)length);
		ck_assert_uint_ne(id, 0);
		ck_assert_uint_eq(rec_names_add(&region, buffer, (uint32_t)length), id);
	}
	/* Then the pool fills up for good, and says so. */
	for (id = 1, count = 0; id != 0; count++)
		id = rec_names_add(&region, &count, sizeof(count));
	ck_assert_uint_gt(count, 1000);
	ck_assert_uint_eq(rec_names_add(&region, text, UINT32_MAX), 0);
}
END_TEST

START_TEST(own_types_are_bounded_copies)
{
	struct rec_user_type type = { .shape = 0xff, .field_count = 99 }, copy;
	uint32_t index;

	strcpy(type.name, "shop.Order");
	memset(type.label, 'x', sizeof(type.label));
	type.field[2].kind = 4711;
	index = rec_user_type_add(&region, &type);
	ck_assert_uint_eq(index, 0);
	ck_assert_uint_eq(rec_user_type_add(&region, &type), 0);
	ck_assert_int_eq(rec_user_type_read(&region, index, &copy), 1);
	ck_assert_str_eq(copy.name, "shop.Order");
	ck_assert_uint_eq(strlen(copy.label), sizeof(copy.label) - 1);
	ck_assert_uint_eq(copy.field_count, REC_USER_FIELDS);
	ck_assert_uint_lt(copy.field[2].kind, EV_KIND_COUNT);
	ck_assert_uint_eq(copy.shape, 7);
	ck_assert_int_eq(rec_user_type_read(&region, 1, &copy), 0);
	ck_assert_int_eq(rec_user_type_read(&region, REC_NONE, &copy), 0);
	for (uint32_t i = 1; i < REC_USER_TYPE_MAX; i++) {
		snprintf(type.name, sizeof(type.name), "shop.Event%u", i);
		ck_assert_uint_eq(rec_user_type_add(&region, &type), i);
	}
	strcpy(type.name, "shop.OneTooMany");
	ck_assert_uint_eq(rec_user_type_add(&region, &type), REC_NONE);
	ck_assert_uint_eq(region.header->user_type_count, REC_USER_TYPE_MAX);
}
END_TEST

START_TEST(live_allocations_come_and_go)
{
	uint32_t process = rec_process_join(&region, 100, 5000, 1, 0), found = 0;
	struct rec_live live;

	ck_assert_int_eq(rec_live_remove(&region, process, 0x5000, &live), 0);
	ck_assert_int_eq(rec_live_add(&region, process, 0x5000, 16, 512, 9, 77, 1234), 1);
	ck_assert_uint_eq(rec_process_at(&region, process)->live_samples, 1);
	ck_assert_uint_eq(rec_process_at(&region, process)->live_bytes, 512);
	for (uint32_t i = 0; i < REC_LIVE_MAX; i++)
		if (rec_live_read(&region, i, &live)) {
			found++;
			ck_assert_uint_eq(live.key, 0x5000 | (uint64_t)process << 48);
			ck_assert_uint_eq(live.size, 16);
			ck_assert_uint_eq(live.weight, 512);
			ck_assert_uint_eq(live.stack, 9);
			ck_assert_uint_eq(live.tid, 77);
			ck_assert_uint_eq(live.ticks, 1234);
		}
	ck_assert_uint_eq(found, 1);
	/* A child frees its copy: the parent's stays. */
	ck_assert_int_eq(rec_live_remove(&region, process + 1, 0x5000, &live), 0);
	ck_assert_int_eq(rec_live_remove(&region, process, 0x5000, &live), 1);
	ck_assert_uint_eq(live.weight, 512);
	ck_assert_int_eq(rec_live_remove(&region, process, 0x5000, &live), 0);
	ck_assert_uint_eq(rec_process_at(&region, process)->live_samples, 0);
	ck_assert_uint_eq(rec_process_at(&region, process)->live_bytes, 0);
	ck_assert_uint_eq(region.header->live_entries, 0);
	ck_assert_int_eq(rec_live_add(&region, REC_PROCESS_MAX, 0x5000, 1, 1, 1, 1, 1), 0);
	ck_assert_int_eq(rec_live_add(&region, 0, 0, 1, 1, 1, 1, 1), 0);
	ck_assert_int_eq(rec_live_add(&region, 0, 1ull << 48, 1, 1, 1, 1, 1), 0);
}
END_TEST

START_TEST(an_address_added_twice_is_there_once)
{
	uint32_t process = rec_process_join(&region, 100, 5000, 1, 0);
	struct rec_live live;

	for (uint64_t i = 1; i <= 10; i++)
		ck_assert_int_eq(rec_live_add(&region, process, 0x5000, i, i, 1, 1, 1), 1);
	ck_assert_uint_eq(region.header->live_entries, 1);
	ck_assert_uint_eq(rec_process_at(&region, process)->live_bytes, 10);
	ck_assert_int_eq(rec_live_remove(&region, process, 0x5000, &live), 1);
	ck_assert_uint_eq(live.size, 10);
	ck_assert_int_eq(rec_live_remove(&region, process, 0x5000, &live), 0);
}
END_TEST

START_TEST(a_full_live_table_gives_up_what_ended_processes_left)
{
	uint32_t old = rec_process_join(&region, 100, 5000, 1, 0);
	uint32_t new = rec_process_join(&region, 101, 5001, 1, 0);
	uint32_t added = 0, again = 0;
	struct rec_live live;

	for (uint64_t i = 1; i <= 2 * REC_LIVE_MAX; i++)
		added += (uint32_t)rec_live_add(&region, old, i * 16, 8, 1, 1, 1, 1);
	ck_assert_uint_gt(added, REC_LIVE_MAX * 9 / 10);
	ck_assert_uint_le(added, REC_LIVE_MAX);
	ck_assert_uint_eq(region.header->live_entries, added);
	ck_assert_uint_eq(rec_process_at(&region, old)->live_bytes, added);
	rec_process_leave(&region, old, 99);
	for (uint64_t i = 1; i <= REC_LIVE_MAX / 2; i++)
		again += (uint32_t)rec_live_add(&region, new, i * 16, 8, 1, 1, 1, 1);
	ck_assert_uint_ge(again, REC_LIVE_MAX / 2 * 99 / 100);
	for (uint64_t i = 1; i <= REC_LIVE_MAX / 2; i++)
		again -= (uint32_t)rec_live_remove(&region, new, i * 16, &live);
	ck_assert_uint_eq(again, 0);
	rec_live_forget(&region, old);
	ck_assert_uint_eq(region.header->live_entries, 0);
}
END_TEST

struct worker {
	pthread_t thread;
	uint32_t number;
	uint32_t bad;
};

static void live_check(struct worker *worker)
{
	struct rec_live live;

	for (uint32_t i = 0; i < REC_LIVE_MAX; i += 7)
		if (rec_live_read(&region, i, &live) &&
		    (live.weight != live.size * 3 || live.ticks != (live.key ^ live.size)))
			worker->bad++;
}

/* Each thread has addresses of its own, so it knows what must be there. */
static void *live_run(void *argument)
{
	struct worker *worker = argument;
	uint64_t state = worker->number, base = 0x100000ull * (worker->number + 1);
	struct rec_live live;
	uint8_t held[256] = { 0 };

	for (int i = 0; i < 20000; i++) {
		uint64_t slot = random_next(&state) % 256, key = base + slot * 16;
		uint64_t size = random_next(&state) + 1;

		if (held[slot]) {
			if (!rec_live_remove(&region, 0, key, &live) ||
			    live.weight != live.size * 3)
				worker->bad++;
			held[slot] = 0;
		} else {
			held[slot] = rec_live_add(&region, 0, key, size, size * 3, 1, 1,
						  key ^ size) != 0;
		}
		if (i % 1000 == 0)
			live_check(worker);
	}
	for (uint64_t slot = 0; slot < 256; slot++)
		if (held[slot] && !rec_live_remove(&region, 0, base + slot * 16, &live))
			worker->bad++;
	return NULL;
}

static void *thread_run(void *argument)
{
	struct worker *worker = argument;
	char name[16], buffer[32];

	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t tid = worker->number * 100000 + i + 1;
		uint32_t index = rec_thread_join(&region, 1, tid, 0, i + 1, "worker");
		struct rec_thread_entry *entry = rec_thread_at(&region, index);
		struct rec_module module = { .base = 0x1000ull * (i % 50 + 1), .space = 3 };

		if (!entry || __atomic_load_n(&entry->tid, __ATOMIC_ACQUIRE) != tid) {
			worker->bad++;
			continue;
		}
		__atomic_store_n(&entry->loss[REC_LOSS_NESTED], 2, __ATOMIC_RELAXED);
		rec_thread_leave(&region, index, i + 2);
		snprintf(name, sizeof(name), "name%u", i % 500);
		if (rec_names_read(&region, rec_names_add(&region, name, (uint32_t)strlen(name)),
				   buffer, sizeof(buffer)) < 0 ||
		    strcmp(buffer, name) != 0)
			worker->bad++;
		if (rec_module_add(&region, &module) == REC_NONE)
			worker->bad++;
	}
	return NULL;
}

static uint32_t workers_run(void *(*run)(void *))
{
	struct worker workers[THREADS] = { 0 };
	uint32_t bad = 0;

	for (uint32_t i = 0; i < THREADS; i++) {
		workers[i].number = i;
		pthread_create(&workers[i].thread, NULL, run, &workers[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		bad += workers[i].bad;
	}
	return bad;
}

START_TEST(many_threads_use_the_live_table)
{
	rec_process_join(&region, 100, 5000, 1, 0);
	ck_assert_uint_eq(workers_run(live_run), 0);
	ck_assert_uint_eq(region.header->live_entries, 0);
	ck_assert_uint_eq(rec_process_at(&region, 0)->live_bytes, 0);
}
END_TEST

START_TEST(many_threads_join_leave_name_and_load)
{
	rec_process_join(&region, 1, 5000, 1, 0);
	ck_assert_uint_eq(workers_run(thread_run), 0);
	/* 24,000 threads through 8,192 entries, and not one loss is lost or counted twice. */
	ck_assert_uint_eq(region.header->loss[REC_LOSS_NESTED], THREADS * 3000 * 2);
	ck_assert_uint_eq(region.header->accumulated_threads, THREADS * 3000);
	ck_assert_uint_eq(region.header->thread_count, REC_THREAD_MAX);
}
END_TEST

START_TEST(many_processes_join_at_once)
{
	uint32_t *seen =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t children[THREADS];
	int status;

	for (int i = 0; i < THREADS; i++) {
		children[i] = fork();
		for (uint32_t j = 0; children[i] == 0 && j < 100; j++) {
			uint32_t index =
				rec_process_join(&region, 1000u + (uint32_t)i * 100 + j, 7, 1, 0);

			if (index >= 1000 ||
			    __atomic_fetch_add(&seen[index], 1, __ATOMIC_RELAXED) != 0)
				_exit(1);
		}
		if (children[i] == 0)
			_exit(0);
	}
	for (int i = 0; i < THREADS; i++) {
		waitpid(children[i], &status, 0);
		ck_assert_int_eq(status, 0);
	}
	ck_assert_uint_eq(region.header->process_count, THREADS * 100);
	ck_assert_uint_eq(region.header->space_count, THREADS * 100);
}
END_TEST

static void use_everything(uint64_t *state)
{
	uint32_t index = (uint32_t)random_next(state) % 20000;
	struct rec_module module = { .base = random_next(state) % 99, .space = 1 };
	struct rec_user_type type = { .name = "x" };
	struct rec_live live;
	char buffer[300];

	rec_process_join(&region, DEAD_PID, random_next(state) % 50, 1, 0);
	rec_process_find(&region, DEAD_PID, 0);
	rec_process_leave(&region, index, 1);
	rec_thread_join(&region, 1, 1 + index, index, 1, "x");
	rec_thread_leave(&region, index, 1);
	rec_module_add(&region, &module);
	rec_module_unload(&region, 1, 1, 1);
	rec_live_add(&region, index, index + 2, 1, 1, 1, 1, 1);
	rec_live_remove(&region, index, index + 2, &live);
	rec_live_forget(&region, index);
	rec_live_read(&region, index, &live);
	rec_names_read(&region, rec_names_add(&region, &index, 4), buffer, sizeof(buffer));
	rec_names_read(&region, (uint32_t)random_next(state) % 131072, buffer, sizeof(buffer));
	rec_user_type_add(&region, &type);
	rec_user_type_read(&region, index % 40, &type);
}

START_TEST(random_bytes_in_the_region_stay_in_bounds)
{
	uint64_t state = (uint64_t)_i + 1;
	size_t counts = offsetof(struct rec_header, process_count);
	uint64_t tables = region.layout.pids, end = region.layout.slots;

	for (int i = 0; i < 50; i++)
		use_everything(&state);
	for (int round = 0; round < 60; round++) {
		/* Everything behind the counts, and the tables themselves. */
		for (size_t i = counts; i < sizeof(struct rec_header); i++)
			if (random_next(&state) % 4 == 0)
				region.base[i] = (uint8_t)random_next(&state);
		for (int i = 0; i < 20000; i++)
			region.base[tables + random_next(&state) % (end - tables)] =
				(uint8_t)random_next(&state);
		use_everything(&state);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tables");
	TCase *tests = tcase_create("tables");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 120);
	tcase_add_checked_fixture(tests, setup, teardown);
	tcase_add_test(tests, a_process_is_found_by_pid_and_start_time);
	tcase_add_test(tests, a_forked_child_inherits_the_description);
	tcase_add_test(tests, exec_keeps_the_entry_and_gives_a_new_space);
	tcase_add_test(tests, exec_of_a_child_leaves_the_modules_of_its_parent);
	tcase_add_test(tests, a_reused_pid_ends_its_predecessor);
	tcase_add_test(tests, a_full_process_table_uses_ended_entries_then_dead_ones);
	tcase_add_test(tests, threads_end_and_their_losses_are_kept);
	tcase_add_test(tests, thread_entries_are_used_again_in_their_order);
	tcase_add_test(tests, modules_are_found_again_while_loaded);
	tcase_add_test(tests, a_full_module_table_uses_what_is_unloaded);
	tcase_add_test(tests, names_are_kept_once);
	tcase_add_test(tests, long_names_leave_room_for_paths);
	tcase_add_test(tests, own_types_are_bounded_copies);
	tcase_add_test(tests, live_allocations_come_and_go);
	tcase_add_test(tests, an_address_added_twice_is_there_once);
	tcase_add_test(tests, a_full_live_table_gives_up_what_ended_processes_left);
	tcase_add_test(tests, many_threads_use_the_live_table);
	tcase_add_test(tests, many_threads_join_leave_name_and_load);
	tcase_add_test(tests, many_processes_join_at_once);
	tcase_add_loop_test(tests, random_bytes_in_the_region_stay_in_bounds, 0, 4);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
