/*
 * The table of descriptors (fd_table.h).
 */
#include "preload/fd_table.h"

#include "preload/scratch.h"
#include "recorder/base/text.h"
#include "recorder/sys/raw.h"

/* Mutable global: the table. */
uint64_t pre_fd_words[PRE_FD_MAX];

static uint64_t forgotten(uint64_t word)
{
	return word & PRE_FD_FORGOTTEN_MASK;
}

/* A whole word from an entry; `word` gives the count of forgetting. */
static uint64_t dress(uint64_t entry, uint64_t word)
{
	return pre_fd_generation() | forgotten(word) | (entry & (PRE_FD_FLAGS | 0x7ffffffffull));
}

uint64_t pre_fd_learn(int fd)
{
	struct pre_scratch *scratch;
	uint64_t entry = 0;
	uint64_t seen = pre_fd_word(fd);

	if (fd < 0 || pre_is_mute())
		return 0;
	scratch = pre_scratch_take();
	if (!scratch)
		return 0;
	if (raw_syscall3(SYS_fstat, fd, (long)&scratch->stat, 0) == 0)
		entry = PRE_FD_ENTRY(S_ISSOCK(scratch->stat.st_mode) ? PRE_FD_SOCKET : PRE_FD_FILE,
				     0, 0);
	pre_scratch_give(scratch);
	if (entry == 0)
		return 0;
	pre_fd_improve(fd, seen, entry);
	return dress(entry, seen);
}

void pre_fd_set(int fd, uint64_t entry)
{
	if ((unsigned)fd >= PRE_FD_MAX || pre_is_mute())
		return;
	__atomic_store_n(&pre_fd_words[fd], dress(entry, pre_fd_word(fd)), __ATOMIC_RELAXED);
}

void pre_fd_improve(int fd, uint64_t seen, uint64_t entry)
{
	if ((unsigned)fd >= PRE_FD_MAX || pre_is_mute())
		return;
	__atomic_compare_exchange_n(&pre_fd_words[fd], &seen, dress(entry, seen), false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void pre_fd_forget(int fd)
{
	uint64_t word;

	if ((unsigned)fd >= PRE_FD_MAX || pre_is_mute())
		return;
	word = __atomic_load_n(&pre_fd_words[fd], __ATOMIC_RELAXED);
	__atomic_store_n(&pre_fd_words[fd], forgotten(word + PRE_FD_FORGOTTEN_ONE),
			 __ATOMIC_RELAXED);
}

/* Whole pages are given back to the kernel: closefrom(3) must not touch the whole table. */
void pre_fd_forget_range(unsigned first, unsigned last)
{
	const unsigned per_page = PAGE_BYTES / sizeof(pre_fd_words[0]);
	/* Entries of the table's first, perhaps partial page are cleared one by one. */
	const unsigned skew = (unsigned)((uintptr_t)pre_fd_words % PAGE_BYTES / sizeof(uint64_t));
	unsigned whole;

	if (pre_is_mute())
		return;
	last = last < PRE_FD_MAX ? last : PRE_FD_MAX - 1;
	while (first <= last) {
		if ((first + skew) % per_page == 0 && last - first >= per_page - 1) {
			whole = (last - first + 1) / per_page * per_page;
			if (raw_madvise(&pre_fd_words[first], whole * sizeof(uint64_t),
					MADV_DONTNEED) == 0) {
				first += whole;
				continue;
			}
		}
		pre_fd_forget((int)first++);
	}
}

void pre_fd_copy(int from, int to)
{
	uint64_t entry = pre_fd_known(from);

	if (PRE_FD_KIND(entry) == PRE_FD_UNKNOWN)
		pre_fd_forget(to);
	else
		pre_fd_set(to, entry);
}

static uint32_t learn_path(struct rec_thread *thread, int fd)
{
	struct pre_scratch *scratch = pre_scratch_take();
	char name[32];
	uint32_t id = 0;
	long length;

	if (!scratch)
		return 0;
	text_u64(text_copy(name, name + sizeof(name), "/proc/self/fd/"), name + sizeof(name),
		 (uint64_t)fd);
	length = raw_readlink(name, scratch->text, sizeof(scratch->text));
	if (length > 0)
		id = rec_string(thread, scratch->text, (size_t)length);
	pre_scratch_give(scratch);
	return id;
}

uint32_t pre_fd_path(struct rec_thread *thread, int fd, uint64_t entry)
{
	uint32_t id = PRE_FD_ID(entry);

	if (likely(id != 0)) {
		if (likely(rec_depot_is_current(&rec_family, id)))
			return id;
		id = rec_depot_refresh(&rec_family, id);
	} else if (entry & PRE_FD_NAMELESS) {
		return 0;
	}
	if (id == 0)
		id = learn_path(thread, fd);
	pre_fd_improve(fd, entry, PRE_FD_ENTRY(PRE_FD_FILE, id ? 0 : PRE_FD_NAMELESS, id));
	return id;
}
