/*
 * What the recorder adds to a pair of malloc and free: bare, through a shim that only passes on,
 * recorder off, sampling (with live tracking), every call, every call with a stack of 24 frames.
 *
 * In: see bench_calls.h; optional number of rounds. Out: one line a case and variant: `CASE VARIANT
 * NS`, the least of interleaved rounds. Cases: `pair` frees at once; `batch` frees 1,000 blocks
 * later, so that the addresses differ.
 */
#include "tests/bench/bench_calls.h"

#define REPEAT 20000
#define BATCH 1000
#define DEPTH 20
#define CASES 2

struct way {
	const char *name;
	void *(*malloc)(size_t);
	void (*free)(void *);
	uint8_t mode; /* enum rec_memory_mode; 255: leave alone */
	uint8_t has_stack;
};

static void *blocks[BATCH];
static volatile int depth_sink;

static double measure_pair(const struct way *way)
{
	double start = bench_now_ns();

	for (int i = 0; i < REPEAT; i++)
		way->free(way->malloc(64));
	return (bench_now_ns() - start) / REPEAT;
}

static double measure_batch(const struct way *way)
{
	double start = bench_now_ns();

	for (int k = 0; k < REPEAT / BATCH; k++) {
		for (int i = 0; i < BATCH; i++)
			blocks[i] = way->malloc(32 + (size_t)(i & 15) * 16);
		for (int i = 0; i < BATCH; i++)
			way->free(blocks[i]);
	}
	return (bench_now_ns() - start) / REPEAT;
}

/* Calls itself, so that there is a stack to walk. */
static __attribute__((noinline)) double at_depth(int depth, double (*measure)(const struct way *),
						 const struct way *way)
{
	double result = depth == 0 ? measure(way) : at_depth(depth - 1, measure, way);

	depth_sink = depth; /* no tail call */
	return result;
}

static void add(struct way *ways, size_t *count, const char *name, void *library, uint8_t mode,
		uint8_t has_stack)
{
	struct way *way = &ways[*count];

	if (!library)
		return;
	way->name = name;
	way->mode = mode;
	way->has_stack = has_stack;
	*(void **)&way->malloc = dlsym(library, "malloc");
	*(void **)&way->free = dlsym(library, "free");
	*count += way->malloc && way->free;
}

static void prepare(const struct way *way)
{
	struct rec_settings *live = bench_region.settings;

	if (way->mode == 255)
		return;
	live->alloc_interval = 524288;
	live->event[EV_Malloc].flags = REC_EVENT_ENABLED | (way->has_stack ? REC_EVENT_STACK : 0);
	live->memory_mode = way->mode;
}

int main(int argc, char **argv)
{
	static double (*const cases[CASES])(const struct way *) = { measure_pair, measure_batch };
	static const char *const names[CASES] = { "malloc-pair", "malloc-batch" };
	int rounds = argc > 1 ? atoi(argv[1]) : 60;
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *recorder = bench_recorder();
	double least[CASES][8];
	struct way ways[8];
	size_t count = 0;

	add(ways, &count, "bare", libc, 255, 0);
	add(ways, &count, "bare-again", libc, 255, 0);
	add(ways, &count, "no-op", bench_library("noop_shim.so"), 255, 0);
	add(ways, &count, "off", recorder, REC_MEMORY_OFF, 0);
	add(ways, &count, "sampled", recorder, REC_MEMORY_SAMPLE, 1);
	add(ways, &count, "all", recorder, REC_MEMORY_ALL, 0);
	add(ways, &count, "all-stack", recorder, REC_MEMORY_ALL, 1);
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count * CASES; i++) {
			const struct way *way = &ways[i / CASES];
			double *best = &least[i % CASES][i / CASES];

			prepare(way);
			double taken = at_depth(DEPTH, cases[i % CASES], way);

			if (round == 0 || taken < *best)
				*best = taken;
		}
	}
	for (int k = 0; k < CASES; k++)
		for (size_t i = 0; i < count; i++)
			printf("%s %s %.1f\n", names[k], ways[i].name, least[k][i]);
	return 0;
}
