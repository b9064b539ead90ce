/*
 * Start and end of a program under different environments, interleaved.
 *
 *   bench_startup ROUNDS PROGRAM NAME [VAR=VALUE]... [-- NAME [VAR=VALUE]...]...
 *
 * In: variants, each a name and what is added to the environment. Out: `startup NAME MICROSECONDS`,
 * the median from posix_spawn() to waitpid().
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define VARIANTS 12
#define ROUNDS 1000

static double taken[VARIANTS][ROUNDS];

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Returns microseconds; negative when the program did not run. */
static double run_once(char *program, char **variant)
{
	char *argv[] = { program, NULL };
	char *environment[32] = { (char *)"PATH=/usr/bin:/bin", (char *)"HOME=/tmp" };
	size_t count = 2;
	double start;
	pid_t pid;
	int status;

	for (char **next = variant + 1; *next && strcmp(*next, "--") != 0 && count < 31; next++)
		environment[count++] = *next;
	start = now_us();
	if (posix_spawn(&pid, program, NULL, NULL, argv, environment) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return now_us() - start;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;
	char **variant[VARIANTS];
	int count = 0;

	if (argc < 4 || rounds < 1 || rounds > ROUNDS) {
		fprintf(stderr, "bench_startup ROUNDS PROGRAM NAME [VAR=VALUE]... [-- ...]\n");
		return 2;
	}
	variant[count++] = &argv[3];
	for (int i = 4; i < argc - 1 && count < VARIANTS; i++)
		if (strcmp(argv[i], "--") == 0)
			variant[count++] = &argv[i + 1];
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++)
			taken[i][round] = run_once(argv[2], variant[i]);
	for (int i = 0; i < count; i++) {
		qsort(taken[i], (size_t)rounds, sizeof(double), compare);
		printf("startup %s %.1f\n", variant[i][0], taken[i][rounds / 2]);
	}
	return 0;
}
