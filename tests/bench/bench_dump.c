/*
 * How long the dump of a full 16 MiB ring takes: CPU and wall time, bytes an event.
 *
 *   bench_dump [RUNS] [THREADS] [FOLDER]
 *
 * In: a ring filled with what a server under load records (3 of 4 records are socket calls of 24
 * bytes, the rest allocations with one of 2,000 stacks of 22 frames, and frees). Out: one line a
 * run for plain and for LZ4, the smallest last. Without symbolizing, which is not the dump's.
 */
#include "tests/unit/region_fill.h"

#include "recorder/dump/dump.h"

#define STACKS 2000
#define FRAMES 22
#define CONNECTIONS 50
#define RING (16ull << 20)

static uint32_t stacks[STACKS], connections[CONNECTIONS];
static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void make_constants(struct rec_region *region, uint32_t process)
{
	for (int i = 0; i < 40; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/usr/lib/libbench%d.so.1", i);
		fill_module(region, process, 0x7f0000000000ull + ((uint64_t)i << 24),
			    0x7f0000000000ull + ((uint64_t)(i + 1) << 24), path, 0, 0);
	}
	for (int i = 0; i < STACKS; i++) {
		uint64_t frames[FRAMES];

		/* The roots are shared, the leaves differ, as in a program. */
		for (int k = 0; k < FRAMES; k++)
			frames[k] = 0x7f0000000000ull + (k < 8 ? next_random() % 20000 * 1024
							       : (uint64_t)k * 4096 + 77);
		stacks[i] = fill_stack(region, frames, FRAMES, 0);
	}
	for (uint32_t i = 0; i < CONNECTIONS; i++)
		connections[i] = fill_ipv4(region, 0x0a000001 + i, (uint16_t)(40000 + i));
}

/* One operation of a server: read, allocate, free, write. */
static void fill_operation(struct fill_thread *thread, uint64_t now)
{
	uint32_t connection = connections[next_random() % CONNECTIONS];
	struct ev_SocketRead in = { .duration = (uint32_t)(next_random() % 3000) + 500,
				    .conn = connection,
				    .bytesRead = 37 };
	struct ev_SocketWrite out = { .duration = (uint32_t)(next_random() % 3000) + 5000,
				      .conn = connection,
				      .bytesWritten = 5 };

	fill_record(thread, EV_SocketRead, 0, now, &in, sizeof(in));
	if (next_random() % 4 == 0) {
		struct ev_Malloc grown = { .stack = stacks[next_random() % STACKS],
					   .size = (uint32_t)(next_random() % 4096),
					   .address =
						   0x7f1200000000ull + next_random() % 1000000 * 16,
					   .weight = 524288 };
		struct ev_Free gone = { .address = grown.address };

		fill_record(thread, EV_Malloc, 0, now + 200, &grown, sizeof(grown));
		fill_record(thread, EV_Free, 0, now + 400, &gone, sizeof(gone));
	}
	fill_record(thread, EV_SocketWrite, 0, now + 6000, &out, sizeof(out));
}

static void fill_ring(struct rec_region *region, uint32_t threads)
{
	static struct fill_thread thread[256];
	uint64_t now = fill_base(region) + 1000000000;
	uint32_t process = fill_process(region, (uint32_t)getpid(), 1, 0, "bench");

	make_constants(region, process);
	for (uint32_t i = 0; i < threads; i++) {
		char name[16];

		snprintf(name, sizeof(name), "worker-%u", i % 1000);
		fill_thread(&thread[i], region, process, 100000 + i, name, now);
	}
	while (region->header->ring.filled < 2 * RING / REC_CHUNK_BYTES) {
		fill_operation(&thread[next_random() % threads], now);
		now += 9000;
	}
}

static uint64_t run(struct rec_region *region, const char *folder, int compress)
{
	static struct rec_dump_result result;
	char path[512];
	struct rec_dump_options options = {
		.path = path, .compress = compress, .reason = "bench", .force = 1
	};

	snprintf(path, sizeof(path), "%s/bench-dump.jfr%s", folder, compress ? ".lz4" : "");
	if (rec_dump_write(region, &options, &result)) {
		fprintf(stderr, "%s\n", result.error);
		exit(1);
	}
	printf("%-5s cpu %7.2f ms  wall %7.2f ms  %8lu events  %9lu bytes  %5.2f bytes/event  "
	       "%5.1f ns/event\n",
	       compress ? "lz4" : "plain", (double)result.cpu_ns / 1e6,
	       (double)result.wall_ns / 1e6, result.events, result.bytes,
	       (double)result.bytes / (double)result.events,
	       (double)result.cpu_ns / (double)result.events);
	unlink(path);
	return result.cpu_ns;
}

int main(int argc, char **argv)
{
	int runs = argc > 1 ? atoi(argv[1]) : 5;
	uint32_t threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
	const char *folder = argc > 3 ? argv[3] : "/tmp";
	uint64_t best[2] = { UINT64_MAX, UINT64_MAX };
	struct rec_region region;

	fill_create(&region, RING);
	fill_ring(&region, threads < 1 ? 1 : threads > 256 ? 256 : threads);
	for (int i = 0; i < runs; i++) {
		for (int compress = 0; compress < 2; compress++) {
			uint64_t cpu = run(&region, folder, compress);

			best[compress] = cpu < best[compress] ? cpu : best[compress];
		}
	}
	printf("best: plain %.2f ms, lz4 %.2f ms of one core for a full %llu MiB ring\n",
	       (double)best[0] / 1e6, (double)best[1] / 1e6, RING >> 20);
	fill_destroy(&region);
	return 0;
}
