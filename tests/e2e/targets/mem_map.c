/*
 * mmap, mmap64, munmap and mremap: what they return, and the MemoryMap event of each that
 * succeeded.
 */
#include "tests/e2e/targets/truth.h"

#include <fcntl.h>
#include <sys/mman.h>

#define PAGE 4096ul

static __attribute__((noinline)) void *take(size_t pages)
{
	void *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	TRUTH_CHECK(at != MAP_FAILED);
	return at;
}

int main(void)
{
	const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *one = take(3), *two;
	void *file = mmap64(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	const unsigned char *bytes = file;

	TRUTH_CHECK(fd >= 0 && file != MAP_FAILED);
	truth("file %x %c", bytes[0], bytes[1]);
	one[0] = 5;
	two = take(9); /* a place to move to */
	TRUTH_CHECK(mremap(one, 3 * PAGE, 5 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, two) == two);
	truth("moved %d", two[0]);
	TRUTH_CHECK(mremap(two, 5 * PAGE, 2 * PAGE, 0) == two);
	truth("munmap %d", munmap(two, 2 * PAGE));
	errno = 0;
	truth("munmap %d %s", munmap((void *)1, PAGE), strerrorname_np(errno));
	truth("mmap %d", mmap(NULL, 0, PROT_READ, anonymous, -1, 0) == MAP_FAILED);
	truth("mmap %d %s", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED,
	      strerrorname_np(errno));
	truth("mremap %d %s", mremap((void *)1, PAGE, PAGE, 0) == MAP_FAILED,
	      strerrorname_np(errno));
	truth("expect holter.MemoryMap count=1 call=mmap size=%lu protection=3 flags=%d "
	      "descriptor=-1 address=%lu",
	      3 * PAGE, anonymous, (unsigned long)one);
	truth("expect-stack holter.MemoryMap size=%lu take main ...", 3 * PAGE);
	truth("expect holter.MemoryMap count=1 call=mmap size=%lu protection=1 flags=%d "
	      "descriptor=%d address=%lu",
	      PAGE, MAP_PRIVATE, fd, (unsigned long)file);
	truth("expect holter.MemoryMap count=1 call=mremap size=%lu address=%lu", 5 * PAGE,
	      (unsigned long)two);
	truth("expect holter.MemoryMap count=1 call=mremap size=%lu flags=0", 2 * PAGE);
	truth("expect holter.MemoryMap count=1 call=munmap size=%lu address=%lu", 2 * PAGE,
	      (unsigned long)two);
	truth("expect holter.MemoryMap count=2 call=mremap");
	truth("expect holter.MemoryMap count=1 call=munmap");
	truth("expect holter.CallFailed count=1 call=munmap error=%d", EINVAL);
	truth("expect holter.CallFailed count=1 call=mmap error=%d descriptor=-1", EINVAL);
	truth("expect holter.CallFailed count=1 call=mmap error=%d descriptor=999", EBADF);
	truth("expect holter.CallFailed count=1 call=mremap error=%d", EINVAL);
	truth_flush();
	return 0;
}
