/*
 * A daemon's habit: closes every descriptor, then opens files of its own. The recorder must neither
 * have had one there nor write into what gets the number: 24 files stay as they were written.
 */
#include "tests/e2e/targets/truth.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define FILES 24
#define BLOCKS 5000

static volatile uintptr_t sink;

/* Allocates deep in the stack, so that stacks are walked and chunks change. */
static __attribute__((noinline)) void deep(int depth)
{
	if (depth > 0) {
		deep(depth - 1);
		sink++;
		return;
	}
	for (int i = 0; i < BLOCKS; i++) {
		void *block = malloc(600 + i % 100);

		sink = (uintptr_t)block;
		free(block);
	}
}

static void *in_thread(void *unused)
{
	deep(20);
	(void)unused;
	return NULL;
}

static int open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	TRUTH_CHECK(folder != NULL);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 3; /* ".", "..", the folder itself */
}

int main(void)
{
	char path[64], text[64], read_back[64];
	pthread_t thread;
	int fd[FILES];

	deep(10);
	truth("descriptors %d", open_descriptors()); /* as many as without the recorder */
	for (int i = 3; i < 1024; i++)
		close(i);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "/tmp/holter-closer-%d-%d", getpid(), i);
		fd[i] = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		TRUTH_CHECK(fd[i] == i + 3); /* the numbers are free */
		snprintf(text, sizeof(text), "file %d\n", i);
		TRUTH_CHECK(write(fd[i], text, strlen(text)) == (ssize_t)strlen(text));
	}
	deep(30);
	TRUTH_CHECK(pthread_create(&thread, NULL, in_thread, NULL) == 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < FILES; i++) {
		struct stat status;
		ssize_t n = pread(fd[i], read_back, sizeof(read_back), 0);

		snprintf(text, sizeof(text), "file %d\n", i);
		TRUTH_CHECK(n == (ssize_t)strlen(text) && memcmp(text, read_back, (size_t)n) == 0);
		TRUTH_CHECK(fstat(fd[i], &status) == 0 && S_ISREG(status.st_mode));
		snprintf(path, sizeof(path), "/tmp/holter-closer-%d-%d", getpid(), i);
		unlink(path);
	}
	truth("expect profiler.Malloc count>=1 size>=600 size<=699");
	truth("expect-stack profiler.Malloc deep deep deep ... in_thread ...");
	truth("files intact");
	truth_ready();
	return 0;
}
