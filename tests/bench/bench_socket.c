/*
 * What the recorder adds to a call that moves bytes: bare, through a shim that only passes on,
 * recorder off, recorder on but below the threshold, recorded, recorded with a stack.
 *
 * In: libholter.so and, where it was built, noop_shim.so in the folder of this program's parent;
 * optional number of rounds. Out: one line a case and variant: `CASE VARIANT NS`; each the least of
 * interleaved rounds in one process, where all variants call one libc by pointer.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "recorder/region/region.h"

#define REPEAT 2000

/* One way to call: functions by pointer, so that all ways are alike. */
struct way {
	const char *name;
	ssize_t (*send)(int, const void *, size_t, int);
	ssize_t (*recv)(int, void *, size_t, int);
	ssize_t (*read)(int, void *, size_t);
	void (*prepare)(void);
};

static struct rec_region region;
static struct rec_settings full;
static int pair[2], null_fd;
static char buffer[64];

static void set_recording(int is_on, uint64_t threshold, int has_stack)
{
	static const int events[] = { EV_SocketRead, EV_SocketWrite, EV_FileRead };

	memcpy(region.settings->gate, full.gate, sizeof(full.gate));
	if (!is_on)
		memset(region.settings->gate, 0, sizeof(full.gate));
	for (size_t i = 0; i < ARRAY_LEN(events); i++) {
		region.settings->event[events[i]].threshold_ticks = threshold;
		region.settings->event[events[i]].flags =
			REC_EVENT_ENABLED | (has_stack ? REC_EVENT_STACK : 0);
	}
}

static void prepare_nothing(void)
{
}

static void prepare_off(void)
{
	set_recording(0, 0, 0);
}

static void prepare_below(void)
{
	set_recording(1, UINT64_MAX - 1, 0);
}

static void prepare_on(void)
{
	set_recording(1, 0, 0);
}

static void prepare_stack(void)
{
	set_recording(1, 0, 1);
}

static void way_from(struct way *way, const char *name, void *library, void (*prepare)(void))
{
	way->name = name;
	way->prepare = prepare;
	*(void **)&way->send = dlsym(library, "send");
	*(void **)&way->recv = dlsym(library, "recv");
	*(void **)&way->read = dlsym(library, "read");
	if (!way->send || !way->recv || !way->read) {
		fprintf(stderr, "bench_socket: %s\n", dlerror());
		exit(1);
	}
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* One byte sent and received: two recorded calls. */
static double measure_pair(const struct way *way)
{
	double start = now_ns();

	for (int i = 0; i < REPEAT; i++) {
		way->send(pair[0], buffer, 1, 0);
		way->recv(pair[1], buffer, sizeof(buffer), 0);
	}
	return (now_ns() - start) / REPEAT / 2;
}

/* The shortest call there is: the end of /dev/null. */
static double measure_null(const struct way *way)
{
	double start = now_ns();

	for (int i = 0; i < REPEAT; i++)
		way->read(null_fd, buffer, sizeof(buffer));
	return (now_ns() - start) / REPEAT;
}

/* Loads the recorder beside libc, without interposition, and opens its region. */
static void *load_recorder(const char *folder)
{
	char path[4200];
	char region_path[REC_PATH_MAX];
	uint64_t start_time = 0;
	uint32_t ppid = 0;
	void *library;

	setenv("HOLTER", "settings=everything,alloc=off,leader=none,memory=4M,signal=none", 1);
	snprintf(path, sizeof(path), "%s/libholter.so", folder);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "bench_socket: %s\n", dlerror());
		exit(1);
	}
	rec_region_start_time((uint32_t)getpid(), &start_time, &ppid);
	if (rec_region_find((uint32_t)getpid(), start_time, 0, region_path) != 0 ||
	    rec_region_open(&region, region_path, 1) != 0) {
		fprintf(stderr, "bench_socket: no region\n");
		exit(1);
	}
	full = *region.settings;
	return library;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 40;
	struct way ways[8];
	double least[2][8];
	size_t count = 0;
	char folder[4096];
	char path[4200];
	ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *library;

	folder[length > 0 ? length : 0] = 0;
	for (int i = 0; i < 2; i++)
		if (strrchr(folder, '/'))
			*strrchr(folder, '/') = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 1;
	null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	way_from(&ways[count++], "bare", libc, prepare_nothing);
	way_from(&ways[count++], "bare-again", libc, prepare_nothing);
	snprintf(path, sizeof(path), "%s/noop_shim.so", folder);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		way_from(&ways[count++], "no-op", library, prepare_nothing);
	library = load_recorder(folder);
	way_from(&ways[count++], "off", library, prepare_off);
	way_from(&ways[count++], "below", library, prepare_below);
	way_from(&ways[count++], "recorded", library, prepare_on);
	way_from(&ways[count++], "stack", library, prepare_stack);
	for (int round = 0; round < rounds; round++) {
		for (size_t i = 0; i < count; i++) {
			double taken[2];

			ways[i].prepare();
			taken[0] = measure_pair(&ways[i]);
			taken[1] = measure_null(&ways[i]);
			for (int k = 0; k < 2; k++)
				if (round == 0 || taken[k] < least[k][i])
					least[k][i] = taken[k];
		}
	}
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; i < count; i++)
			printf("%s %s %.1f\n", k == 0 ? "socket" : "null", ways[i].name,
			       least[k][i]);
	return 0;
}
