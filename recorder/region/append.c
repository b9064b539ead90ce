/*
 * The slow path of an append: change the chunk, move the time base, count what cannot be recorded.
 *
 * In: a record that did not fit (append.h). Out: the record in a new chunk, or a loss counted.
 * While it works the writer's limit is 0, so that handlers which interrupt it are refused and
 * counted.
 */
#include "recorder/region/append.h"

#define REFUSED_MAX 4096u    /* then the interrupted append is taken for dead (siglongjmp) */
#define RETRY_TICKS 2000000u /* about a millisecond: pause after finding no chunk */

static void count_loss(struct rec_writer_cold *cold, enum rec_loss cause, uint32_t bytes)
{
	if (!cold->loss)
		return;
	__atomic_store_n(&cold->loss[cause], cold->loss[cause] + 1, __ATOMIC_RELAXED);
	__atomic_store_n(cold->loss_bytes, *cold->loss_bytes + bytes + 8, __ATOMIC_RELAXED);
}

/* Hands over the full chunk, takes the next. The limit is 0 on entry and while it works. */
static bool change_chunk(struct rec_writer *writer, struct rec_writer_cold *cold, uint64_t ticks)
{
	uint32_t full = writer->chunk;

	/* First forgotten, then handed over: whoever interrupts here for good cannot hand it over
	 * twice. */
	writer->chunk = REC_CHUNK_NONE;
	writer->pos = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (full == REC_CHUNK_NONE && ticks < cold->retry_ticks)
		return false;
	cold->owner.sequence++;
	uint32_t number = rec_ring_exchange(cold->region, full, &cold->owner, ticks);
	struct rec_chunk *chunk = rec_ring_chunk(cold->region, number);

	if (!chunk) {
		cold->retry_ticks = ticks + RETRY_TICKS;
		return false;
	}
	writer->chunk = number;
	if (cold->chunk_shown)
		__atomic_store_n(cold->chunk_shown, number, __ATOMIC_RELEASE);
	writer->base_ticks = ticks;
	writer->pos = (uint64_t)(uintptr_t)chunk->data;
	return true;
}

static uint64_t chunk_end(const struct rec_writer *writer, const struct rec_writer_cold *cold)
{
	struct rec_chunk *chunk = rec_ring_chunk(cold->region, writer->chunk);

	return chunk ? (uint64_t)(uintptr_t)(chunk + 1) : 0;
}

/* Room for the record and, if the ticks need it, for a new time base: writes the latter. */
static bool make_room(struct rec_writer *writer, struct rec_writer_cold *cold, uint64_t ticks,
		      uint64_t size)
{
	uint64_t end = chunk_end(writer, cold);

	if (writer->pos == 0 || writer->pos + 16 + size > end) {
		if (!change_chunk(writer, cold, ticks))
			return false;
	} else if ((ticks - writer->base_ticks) >> 32 != 0) {
		uint64_t *record = (uint64_t *)writer->pos;

		shared_store(record + 1, &ticks, sizeof(ticks));
		__atomic_store_n(record, EV_WORD0(EV_TYPE_REBASE, 2, 0, 0), __ATOMIC_RELEASE);
		writer->base_ticks = ticks;
		writer->pos += 16;
	}
	return true;
}

void rec_append_slow(struct rec_writer *writer, struct rec_writer_cold *cold, uint32_t type,
		     uint32_t flags, uint64_t ticks, const void *body, uint32_t bytes)
{
	uint64_t size = 8 + (uint64_t)bytes;

	if (writer->depth != 0) {
		if (++cold->refused < REFUSED_MAX) {
			count_loss(cold, REC_LOSS_NESTED, bytes);
			return;
		}
		writer->depth = 0;
	}
	cold->refused = 0;
	writer->depth = 1;
	writer->limit = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (make_room(writer, cold, ticks, size)) {
		uint64_t *record = (uint64_t *)writer->pos;
		uint64_t word = EV_WORD0(type, size / 8, flags, ticks - writer->base_ticks);

		shared_store(record + 1, body, bytes);
		/* Pairs with the acquire loads of rec_ring_copy(). */
		__atomic_store_n(record, word, __ATOMIC_RELEASE);
		writer->pos += size;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		writer->limit = chunk_end(writer, cold);
	} else {
		count_loss(cold, REC_LOSS_NO_CHUNK, bytes);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	writer->depth = 0;
}

void rec_append_detach(struct rec_writer *writer, struct rec_writer_cold *cold)
{
	uint32_t number = writer->chunk;

	writer->limit = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	writer->pos = 0;
	writer->chunk = REC_CHUNK_NONE;
	if (cold->chunk_shown)
		__atomic_store_n(cold->chunk_shown, REC_CHUNK_NONE, __ATOMIC_RELEASE);
	if (number != REC_CHUNK_NONE && cold->region)
		rec_ring_release(cold->region, number);
}
