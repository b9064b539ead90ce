/*
 * Allocates 200 MB in blocks and frees half of them; a sample of the rest must be known as live,
 * with weights that add up to what is live, whatever a forked child does with its copy.
 */
#include "tests/e2e/targets/truth.h"

#include <sys/wait.h>

#define BLOCKS 20000
#define BYTES 10000

static void *block[BLOCKS];

static __attribute__((noinline)) void keep(void)
{
	for (int i = 0; i < BLOCKS; i += 2)
		block[i] = malloc(BYTES);
}

static __attribute__((noinline)) void drop(void)
{
	for (int i = 1; i < BLOCKS; i += 2)
		block[i] = malloc(BYTES);
	for (int i = 1; i < BLOCKS; i += 2)
		free(block[i]);
}

int main(void)
{
	const long live = (long)BLOCKS / 2 * BYTES, all = (long)BLOCKS * BYTES;
	pid_t child;
	int status;

	keep();
	drop();
	child = fork();
	if (child == 0) {
		for (int i = 0; i < BLOCKS; i += 2)
			free(block[i]);
		_exit(0);
	}
	TRUTH_CHECK(waitpid(child, &status, 0) == child && status == 0);
	/* Mean distance 64 KiB: about 1,500 samples live, so 15 % are six standard deviations. */
	truth("expect holter.LiveAllocation count>=1000 process=%d size=%d sum:weight>=%ld "
	      "sum:weight<=%ld",
	      getpid(), BYTES, live / 100 * 85, live / 100 * 115);
	truth("expect profiler.Malloc size=%d sum:weight>=%ld sum:weight<=%ld", BYTES,
	      all / 100 * 85, all / 100 * 115);
	truth("expect-stack holter.LiveAllocation count>=1000 keep main ...");
	truth("expect-stack holter.LiveAllocation count=0 drop main ...");
	truth("expect holter.HeapSummary count>=0");
	truth_ready();
	return 0;
}
