/*
 * Growing memory on mmap and mremap, and a sort that needs none.
 *
 * In: vectors of the dump. Out: the same, larger. Never here: malloc, qsort (it allocates).
 */
#include "recorder/dump/vec.h"

#include <sys/mman.h>

#include "recorder/sys/raw.h"

#define VEC_FIRST (64ull << 10)
#define HUGE_PAGE (2ull << 20)

bool rec_vec_grow(struct rec_vec *vec, uint64_t more)
{
	uint64_t size = vec->size ? vec->size : VEC_FIRST;
	void *data;

	if (more > REC_VEC_MAX || vec->used + more > REC_VEC_MAX)
		return false;
	while (size < vec->used + more)
		size *= 2;
	if (!vec->data)
		data = raw_mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
				0);
	else
		data = (void *)raw_syscall6(SYS_mremap, (long)vec->data, (long)vec->size,
					    (long)size, MREMAP_MAYMOVE, 0, 0);
	if (raw_is_error(data))
		return false;
	/* Faulting 4 KiB at a time costs more than what is written there (10 ms per 16 MiB). */
	if (size >= 2 * HUGE_PAGE)
		raw_madvise(data, size, MADV_HUGEPAGE);
	vec->data = data;
	vec->size = size;
	return true;
}

void rec_vec_free(struct rec_vec *vec)
{
	if (vec->data)
		raw_munmap(vec->data, vec->size);
	vec->data = NULL;
	vec->used = vec->size = 0;
}

static void swap(uint8_t *a, uint8_t *b, uint32_t bytes)
{
	uint8_t temporary[64];

	memcpy(temporary, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, temporary, bytes);
}

void rec_sort(void *base, uint64_t count, uint32_t bytes,
	      int (*compare)(const void *, const void *))
{
	uint8_t *data = base;
	uint64_t start = count / 2;
	uint64_t end = count;

	while (end > 1) {
		if (start > 0)
			start--;
		else
			swap(data, data + --end * bytes, bytes);
		for (uint64_t root = start, child; (child = 2 * root + 1) < end; root = child) {
			if (child + 1 < end &&
			    compare(data + child * bytes, data + (child + 1) * bytes) < 0)
				child++;
			if (compare(data + root * bytes, data + child * bytes) >= 0)
				break;
			swap(data + root * bytes, data + child * bytes, bytes);
		}
	}
}
