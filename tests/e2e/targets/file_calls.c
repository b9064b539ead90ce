/*
 * Files: each way to open, read, write and force, with paths, counts and errors that must be
 * recorded; descriptors beyond the recorder's table, inherited ones, names relative to a folder;
 * CallFailed.
 */
#include "tests/e2e/targets/truth.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define NOINLINE __attribute__((noinline, noclone))

ssize_t __read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
int __open_2(const char *path, int flags);

static char folder[64], buffer[65536];

static const char *path_of(const char *name)
{
	static char path[2][128];
	static int which;

	which = !which;
	snprintf(path[which], sizeof(path[which]), "%s/%s", folder, name);
	return path[which];
}

NOINLINE static int open_settings(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);

	__asm__ volatile("");
	return fd;
}

NOINLINE static ssize_t save_settings(int fd, size_t size)
{
	ssize_t n = write(fd, buffer, size);

	__asm__ volatile("");
	return n;
}

static void open_calls(void)
{
	int at = open(folder, O_RDONLY | O_DIRECTORY), fd;
	struct stat status;

	TRUTH_CHECK(at >= 0 && (fd = open_settings(path_of("a"))) >= 0);
	TRUTH_CHECK(fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0640);
	truth("expect holter.FileOpen count=1 path=%s flags=%d descriptor=%d error=0", path_of("a"),
	      O_RDWR | O_CREAT | O_CLOEXEC, fd);
	truth("expect-stack holter.FileOpen path=%s open_settings open_calls main", path_of("a"));
	close(fd);
	TRUTH_CHECK(open(path_of("missing"), O_RDONLY) == -1 && errno == ENOENT);
	truth("expect holter.FileOpen count=1 path=%s descriptor=-1 error=%d", path_of("missing"),
	      ENOENT);
	TRUTH_CHECK((fd = openat(at, "b", O_WRONLY | O_CREAT, 0600)) >= 0);
	truth("expect holter.FileOpen count=1 path=%s descriptor=%d", path_of("b"), fd);
	close(fd);
	TRUTH_CHECK((fd = creat(path_of("c"), 0600)) >= 0);
	truth("expect holter.FileOpen count=1 path=%s flags=%d", path_of("c"),
	      O_CREAT | O_WRONLY | O_TRUNC);
	close(fd);
	TRUTH_CHECK((fd = __open_2(path_of("c"), O_RDONLY)) >= 0);
	truth("expect holter.FileOpen count=1 path=%s flags=%d", path_of("c"), O_RDONLY);
	close(fd);
	TRUTH_CHECK((fd = open(folder, O_TMPFILE | O_RDWR, 0600)) >= 0);
	TRUTH_CHECK(fstat(fd, &status) == 0 && (status.st_mode & 0777) == 0600);
	close(fd);
	close(at);
}

static void move_calls(void)
{
	struct iovec vector[2] = { { buffer, 100 }, { buffer + 100, 28 } };
	int fd = open(path_of("data"), O_RDWR | O_CREAT, 0600), copy;

	TRUTH_CHECK(fd >= 0 && save_settings(fd, 1000) == 1000);
	truth("expect-stack jdk.FileWrite bytesWritten=1000 save_settings move_calls main");
	TRUTH_CHECK(writev(fd, vector, 2) == 128 && pwrite(fd, buffer, 10, 5) == 10);
	TRUTH_CHECK(pwrite64(fd, buffer, 11, 5) == 11 && pwritev(fd, vector, 2, 0) == 128);
	TRUTH_CHECK(pwritev64(fd, vector, 2, 0) == 128 && pwritev2(fd, vector, 2, 0, 0) == 128);
	TRUTH_CHECK(pread(fd, buffer, 50, 0) == 50 && pread64(fd, buffer, 51, 0) == 51);
	TRUTH_CHECK(__pread_chk(fd, buffer, 52, 0, sizeof(buffer)) == 52);
	TRUTH_CHECK(preadv(fd, vector, 2, 0) == 128 && preadv64(fd, vector, 2, 0) == 128);
	TRUTH_CHECK(preadv2(fd, vector, 2, 0, 0) == 128 && lseek(fd, 0, SEEK_SET) == 0);
	TRUTH_CHECK(read(fd, buffer, 60) == 60 && readv(fd, vector, 2) == 128);
	TRUTH_CHECK(__read_chk(fd, buffer, 61, sizeof(buffer)) == 61);
	TRUTH_CHECK(pread(fd, buffer, 10, 100000) == 0);
	truth("expect jdk.FileRead count=1 path=%s bytesRead=0 endOfFile=true", path_of("data"));
	TRUTH_CHECK(fsync(fd) == 0 && fdatasync(fd) == 0 && fdatasync(fd) == 0);
	truth("expect jdk.FileForce count=1 path=%s metaData=true", path_of("data"));
	truth("expect jdk.FileForce count=2 path=%s metaData=false", path_of("data"));
	truth("expect jdk.FileWrite count=9 path=%s sum:bytesWritten=1946", path_of("data"));
	truth("expect jdk.FileRead count=11 path=%s sum:bytesRead=1087", path_of("data"));
	/* The same number for another file, after it was closed in ways that are and are not seen.
	 */
	copy = dup(fd);
	close(fd);
	TRUTH_CHECK(open(path_of("other"), O_RDWR | O_CREAT, 0600) == fd);
	TRUTH_CHECK(write(fd, buffer, 201) == 201 && write(copy, buffer, 202) == 202);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=201", path_of("other"));
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=202", path_of("data"));
	fclose(fdopen(fd, "w"));
	TRUTH_CHECK(open(path_of("third"), O_RDWR | O_CREAT, 0600) == fd);
	TRUTH_CHECK(write(fd, buffer, 203) == 203);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=203", path_of("third"));
	closefrom(3);
}

/* Streams close and open inside libc: a number that was one file becomes another unseen. */
static void streams(void)
{
	char name[128];
	FILE *stream = fopen(path_of("data"), "r+");
	int fd = fileno(stream);

	TRUTH_CHECK(write(fd, buffer, 211) == 211 && fclose(stream) == 0);
	snprintf(name, sizeof(name), "%s/tempXXXXXX", folder);
	TRUTH_CHECK(mkstemp(name) == fd && write(fd, buffer, 212) == 212);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=211", path_of("data"));
	truth("expect jdk.FileWrite count=1 path~temp bytesWritten=212");
	TRUTH_CHECK((stream = fdopen(fd, "r+")) != NULL);
	TRUTH_CHECK(freopen(path_of("other"), "r+", stream) && fileno(stream) == fd);
	TRUTH_CHECK(write(fd, buffer, 213) == 213);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=213", path_of("other"));
	TRUTH_CHECK(freopen64(path_of("third"), "r+", stream) && fileno(stream) == fd);
	TRUTH_CHECK(write(fd, buffer, 214) == 214 && fclose(stream) == 0 && unlink(name) == 0);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=214", path_of("third"));
	stream = popen("exit 0", "r");
	TRUTH_CHECK(stream && fileno(stream) == fd && read(fd, buffer, 1) == 0 &&
		    pclose(stream) == 0);
	TRUTH_CHECK((stream = fopen(path_of("third"), "r+")) && fileno(stream) == fd);
	TRUTH_CHECK(write(fd, buffer, 215) == 215 && fclose(stream) == 0);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=215", path_of("third"));
	TRUTH_CHECK((stream = fmemopen(buffer, 10, "r")) != NULL);
	errno = 77;
	TRUTH_CHECK(fclose(stream) == 0 && errno == 77);
}

static void both_ways(void)
{
	int in = open(path_of("data"), O_RDONLY), pair[2], ends[2];
	off_t at = 0;

	TRUTH_CHECK(in >= 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && pipe(ends) == 0);
	TRUTH_CHECK(sendfile(pair[0], in, &at, 301) == 301);
	truth("expect jdk.FileRead count=1 path=%s bytesRead=301", path_of("data"));
	truth("expect jdk.SocketWrite count=1 bytesWritten=301");
	TRUTH_CHECK(splice(pair[1], NULL, ends[1], NULL, 300, 0) == 300);
	truth("expect jdk.SocketRead count=1 bytesRead=300");
	truth("expect jdk.FileWrite count=1 path~^pipe: bytesWritten=300");
	closefrom(3);
}

/* Numbers above the recorder's table are looked at each time. */
static void far_descriptor(void)
{
	struct rlimit limit;
	int far = 70000, fd = open(path_of("far"), O_RDWR | O_CREAT, 0600);

	TRUTH_CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
	if (limit.rlim_cur <= (rlim_t)far) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (dup2(fd, far) == far) {
		TRUTH_CHECK(write(far, buffer, 401) == 401 && write(far, buffer, 402) == 402);
		truth("expect jdk.FileWrite count=2 path=%s sum:bytesWritten=803", path_of("far"));
		close(far);
	}
	close(fd);
}

static void inherited(void)
{
	int fd = open(path_of("shared"), O_RDWR | O_CREAT, 0600), status;
	pid_t child;

	TRUTH_CHECK(write(fd, buffer, 501) == 501 && (child = fork()) >= 0);
	if (child == 0) {
		TRUTH_CHECK(write(fd, buffer, 502) == 502 && close(fd) == 0);
		TRUTH_CHECK(open(path_of("childs"), O_RDWR | O_CREAT, 0600) == fd);
		TRUTH_CHECK(write(fd, buffer, 503) == 503);
		_exit(0);
	}
	TRUTH_CHECK(waitpid(child, &status, 0) == child && status == 0);
	TRUTH_CHECK(write(fd, buffer, 504) == 504 && close(fd) == 0);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=502 eventThread.osThreadId=%d",
	      path_of("shared"), child);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=503", path_of("childs"));
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=504 eventThread.osThreadId=%d",
	      path_of("shared"), getpid());
}

/* A vfork child has our memory and descriptors of its own: what it does must not be noted as ours.
 */
static void vfork_child(void)
{
	int fd = open(path_of("kept"), O_RDWR | O_CREAT, 0600), ends[2], status;
	pid_t child;

	TRUTH_CHECK(fd >= 0 && pipe(ends) == 0 && write(fd, buffer, 601) == 601);
	child = vfork();
	if (child == 0) {
		dup2(ends[1], fd);
		(void)!write(fd, "x", 1);
		_exit(0);
	}
	TRUTH_CHECK(waitpid(child, &status, 0) == child && status == 0);
	TRUTH_CHECK(read(ends[0], buffer, 10) == 1);
	TRUTH_CHECK(write(fd, buffer, 602) == 602);
	truth("expect jdk.FileWrite count=1 path=%s bytesWritten=602", path_of("kept"));
	closefrom(3);
}

static void failures(void)
{
	TRUTH_CHECK(read(-1, buffer, 1) == -1 && write(1000, buffer, 1) == -1);
	TRUTH_CHECK(close(-7) == -1 && dup2(-3, 5) == -1 && fsync(-9) == -1);
	truth("expect holter.CallFailed count=1 call=read error=%d descriptor=-1", EBADF);
	truth("expect holter.CallFailed count=1 call=write error=%d descriptor=1000", EBADF);
	truth("expect holter.CallFailed count=1 call=close error=%d descriptor=-7", EBADF);
	truth("expect holter.CallFailed count=1 call=dup2 error=%d descriptor=-3", EBADF);
	truth("expect holter.CallFailed count=1 call=fsync error=%d descriptor=-9", EBADF);
	truth("expect holter.CallFailed count=1 call=open error=%d", ENOENT);
	truth("expect-stack holter.CallFailed call=fsync failures main");
}

int main(void)
{
	snprintf(folder, sizeof(folder), "/tmp/holter-file-%d", getpid());
	TRUTH_CHECK(mkdir(folder, 0700) == 0);
	open_calls();
	move_calls();
	streams();
	both_ways();
	far_descriptor();
	inherited();
	vfork_child();
	failures();
	truth_flush();
	for (const char *name = "a\0b\0c\0data\0other\0third\0far\0shared\0childs\0kept\0"; *name;
	     name += strlen(name) + 1)
		unlink(path_of(name));
	rmdir(folder);
	return 0;
}
