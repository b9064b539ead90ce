/*
 * Makes exactly N calls of each kind, each kind in a thread with a name of its own, and tells how
 * many.
 *
 * In: nothing. Out: the truth (truth.h) for `settings=everything,alloc=all`. A waiter is known to
 * wait by what glibc writes into the lock, never by time passing.
 */
#include "tests/e2e/targets/truth.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define MEMORY_CALLS 1000
#define WAITS 7
#define IO_CALLS 200
#define SLEEPS 5
#define THREADS 9

static char folder[] = "/tmp/holter-exact-XXXXXX";
static volatile uintptr_t sink;

/* Runs one kind in a thread of its own, so that its events can be told from all others. */
static void in_thread(void *(*body)(void *), void *argument)
{
	pthread_t thread;

	TRUTH_CHECK(pthread_create(&thread, NULL, body, argument) == 0);
	TRUTH_CHECK(pthread_join(thread, NULL) == 0);
}

/* A thread names itself as its first act: what it does later is recorded under that name. */
static void call_me(const char *name)
{
	TRUTH_CHECK(pthread_setname_np(pthread_self(), name) == 0);
}

static void *memory_calls(void *unused)
{
	static void *block[MEMORY_CALLS];

	call_me("exact-memory");
	for (int i = 0; i < MEMORY_CALLS; i++)
		block[i] = malloc(4242);
	for (int i = 0; i < MEMORY_CALLS; i++)
		block[i] = realloc(block[i], 51510);
	for (int i = 0; i < MEMORY_CALLS; i++) {
		sink = (uintptr_t)block[i];
		free(block[i]);
	}
	for (int i = 0; i < MEMORY_CALLS; i++) {
		block[i] = calloc(3, 1111);
		sink = (uintptr_t)block[i];
		free(block[i]);
	}
	void *other[] = { memalign(64, 1201), aligned_alloc(128, 1280),	  valloc(1203),
			  pvalloc(1204),      reallocarray(NULL, 5, 241), NULL };
	TRUTH_CHECK(posix_memalign(&other[5], 64, 1206) == 0);
	for (int i = 0; i < 6; i++) {
		sink = (uintptr_t)other[i];
		free(other[i]);
	}
	free(NULL);
	(void)unused;
	return NULL;
}

static void memory(void)
{
	in_thread(memory_calls, NULL);
	truth("expect profiler.Malloc count=%d thread=exact-memory size=4242", MEMORY_CALLS);
	truth("expect profiler.Malloc count=%d thread=exact-memory size=51510", MEMORY_CALLS);
	truth("expect profiler.Malloc count=%d thread=exact-memory size=3333", MEMORY_CALLS);
	truth("expect profiler.Malloc count=1 thread=exact-memory size=1201");
	truth("expect profiler.Malloc count=1 thread=exact-memory size=1280");
	truth("expect profiler.Malloc count=1 thread=exact-memory size=1203");
	truth("expect profiler.Malloc count=1 thread=exact-memory size=1204");
	truth("expect profiler.Malloc count=1 thread=exact-memory size=1205");
	truth("expect profiler.Malloc count=1 thread=exact-memory size=1206");
	truth("expect profiler.Malloc count=%d thread=exact-memory", 3 * MEMORY_CALLS + 6);
	/* realloc() frees the old block and allocates the new one. */
	truth("expect profiler.Free count=%d thread=exact-memory", 3 * MEMORY_CALLS + 6);
	truth("expect-stack profiler.Malloc count=%d size=4242 memory_calls ...", MEMORY_CALLS);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begin, round_end;

static void *lock_waiter(void *unused)
{
	call_me("exact-waiter");
	for (int i = 0; i < WAITS; i++) {
		pthread_barrier_wait(&round_begin);
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&round_end);
	}
	(void)unused;
	return NULL;
}

static void sleep_ms(long ms)
{
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&time, &time) != 0 && errno == EINTR)
		;
}

static void *lock_owner(void *unused)
{
	pthread_t waiter;

	call_me("exact-owner");
	TRUTH_CHECK(pthread_create(&waiter, NULL, lock_waiter, NULL) == 0);
	for (int i = 0; i < WAITS; i++) {
		pthread_mutex_lock(&mutex);
		pthread_barrier_wait(&round_begin);
		/* 2: somebody sleeps in the kernel for it. */
		while (__atomic_load_n(&mutex.__data.__lock, __ATOMIC_RELAXED) != 2)
			sched_yield();
		sleep_ms(20);
		pthread_mutex_unlock(&mutex);
		pthread_barrier_wait(&round_end);
	}
	TRUTH_CHECK(pthread_join(waiter, NULL) == 0);
	(void)unused;
	return NULL;
}

static void locks(void)
{
	pthread_barrier_init(&round_begin, NULL, 2);
	pthread_barrier_init(&round_end, NULL, 2);
	in_thread(lock_owner, NULL);
	truth("expect jdk.JavaMonitorEnter count=%d thread=exact-waiter "
	      "monitorClass.name=pthread_mutex_t address=%lu duration>=19ms "
	      "previousOwner.osName=exact-owner",
	      WAITS, (unsigned long)&mutex);
	truth("expect jdk.JavaMonitorEnter count=%d address=%lu", WAITS, (unsigned long)&mutex);
	truth("expect-stack jdk.JavaMonitorEnter count=%d thread=exact-waiter lock_waiter ...",
	      WAITS);
	truth("expect holter.LockHeld count=%d thread=exact-owner address=%lu "
	      "lockClass.name=pthread_mutex_t duration>=19ms",
	      WAITS, (unsigned long)&mutex);
	truth("expect-stack holter.LockHeld count=%d thread=exact-owner lock_owner ...", WAITS);
	truth("expect jdk.ThreadPark count=%d parkedClass.name=pthread_barrier_t", 4 * WAITS);
	truth("expect jdk.ThreadSleep count=%d thread=exact-owner time=20ms", WAITS);
}

static pthread_mutex_t cond_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waiting, signalled;

static void *cond_waiter(void *unused)
{
	struct timespec until;

	call_me("exact-cond");
	pthread_mutex_lock(&cond_mutex);
	for (int i = 0; i < WAITS; i++) {
		waiting = i + 1;
		while (signalled != i + 1)
			pthread_cond_wait(&cond, &cond_mutex);
	}
	for (int i = 0; i < 3; i++) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 30000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		while (pthread_cond_timedwait(&cond, &cond_mutex, &until) != ETIMEDOUT)
			;
	}
	pthread_mutex_unlock(&cond_mutex);
	(void)unused;
	return NULL;
}

static void conditions(void)
{
	pthread_t waiter;

	TRUTH_CHECK(pthread_create(&waiter, NULL, cond_waiter, NULL) == 0);
	for (int i = 0; i < WAITS; i++) {
		for (;;) { /* it waits once it has said so and given the mutex back */
			pthread_mutex_lock(&cond_mutex);
			if (waiting == i + 1)
				break;
			pthread_mutex_unlock(&cond_mutex);
			sched_yield();
		}
		signalled = i + 1;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&cond_mutex);
	}
	TRUTH_CHECK(pthread_join(waiter, NULL) == 0);
	truth("expect jdk.JavaMonitorWait count=%d thread=exact-cond timedOut=false "
	      "monitorClass.name=pthread_cond_t address=%lu",
	      WAITS, (unsigned long)&cond);
	truth("expect jdk.JavaMonitorWait count=3 thread=exact-cond timedOut=true duration>=25ms "
	      "duration<=10s");
	truth("expect-stack jdk.JavaMonitorWait count=%d thread=exact-cond cond_waiter ...",
	      WAITS + 3);
}

static sem_t semaphore;

static void *sem_waiter(void *unused)
{
	call_me("exact-sem");
	for (int i = 0; i < WAITS; i++)
		while (sem_wait(&semaphore) != 0)
			;
	(void)unused;
	return NULL;
}

static void semaphores(void)
{
	pthread_t waiter;
	int value = 0;

	sem_init(&semaphore, 0, 0);
	TRUTH_CHECK(pthread_create(&waiter, NULL, sem_waiter, NULL) == 0);
	for (int i = 0; i < WAITS; i++) {
		/* nwaiters, the upper half of glibc's 64-bit semaphore: it sleeps. */
		while (__atomic_load_n((uint64_t *)&semaphore, __ATOMIC_RELAXED) >> 32 == 0)
			sched_yield();
		sem_post(&semaphore);
		do
			sem_getvalue(&semaphore, &value);
		while (value != 0);
	}
	TRUTH_CHECK(pthread_join(waiter, NULL) == 0);
	truth("expect jdk.ThreadPark count=%d thread=exact-sem parkedClass.name=sem_t address=%lu",
	      WAITS, (unsigned long)&semaphore);
}

static int listener;
static struct sockaddr_in server_address;

static void *tcp_server(void *unused)
{
	char buffer[100];
	int fd;

	call_me("exact-server");
	fd = accept(listener, NULL, NULL);
	TRUTH_CHECK(fd >= 0);
	for (int i = 0; i < IO_CALLS; i++) {
		TRUTH_CHECK(recv(fd, buffer, sizeof(buffer), MSG_WAITALL) == sizeof(buffer));
		TRUTH_CHECK(send(fd, buffer, 10, 0) == 10);
	}
	TRUTH_CHECK(recv(fd, buffer, sizeof(buffer), 0) == 0);
	close(fd);
	(void)unused;
	return NULL;
}

static void *tcp_client(void *unused)
{
	char buffer[100] = "request";
	int fd;

	call_me("exact-client");
	fd = socket(AF_INET, SOCK_STREAM, 0);
	TRUTH_CHECK(connect(fd, (struct sockaddr *)&server_address, sizeof(server_address)) == 0);
	for (int i = 0; i < IO_CALLS; i++) {
		TRUTH_CHECK(write(fd, buffer, sizeof(buffer)) == sizeof(buffer));
		TRUTH_CHECK(read(fd, buffer, 10) == 10);
	}
	close(fd);
	(void)unused;
	return NULL;
}

static void tcp(void)
{
	socklen_t length = sizeof(server_address);
	pthread_t server;
	int port;

	listener = socket(AF_INET, SOCK_STREAM, 0);
	server_address.sin_family = AF_INET;
	server_address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	TRUTH_CHECK(bind(listener, (struct sockaddr *)&server_address, length) == 0);
	TRUTH_CHECK(listen(listener, 1) == 0);
	TRUTH_CHECK(getsockname(listener, (struct sockaddr *)&server_address, &length) == 0);
	port = ntohs(server_address.sin_port);
	TRUTH_CHECK(pthread_create(&server, NULL, tcp_server, NULL) == 0);
	in_thread(tcp_client, NULL);
	TRUTH_CHECK(pthread_join(server, NULL) == 0);
	close(listener);
	truth("expect holter.SocketConnect count=1 thread=exact-client address=127.0.0.1 port=%d "
	      "error=0 "
	      "process=%d",
	      port, getpid());
	truth("expect holter.SocketAccept count=1 thread=exact-server address=127.0.0.1");
	truth("expect jdk.SocketWrite count=%d thread=exact-client port=%d address=127.0.0.1 "
	      "bytesWritten=100",
	      IO_CALLS, port);
	truth("expect jdk.SocketRead count=%d thread=exact-client port=%d bytesRead=10 "
	      "endOfStream=false "
	      "sum:bytesRead=%d",
	      IO_CALLS, port, 10 * IO_CALLS);
	truth("expect jdk.SocketRead count=%d thread=exact-server bytesRead=100 sum:bytesRead=%d",
	      IO_CALLS, 100 * IO_CALLS);
	truth("expect jdk.SocketRead count=1 thread=exact-server bytesRead=0 endOfStream=true");
	truth("expect jdk.SocketWrite count=%d thread=exact-server bytesWritten=10", IO_CALLS);
	/* The kernel counts the end of a stream as a byte. */
	truth("expect holter.SocketClose count=1 thread=exact-client port=%d bytesReceived=%d "
	      "bytesSent>=%d bytesSent<=%d",
	      port, 10 * IO_CALLS, 100 * IO_CALLS, 100 * IO_CALLS + 1);
	truth("expect holter.SocketClose count=1 thread=exact-server bytesReceived>=%d "
	      "bytesReceived<=%d",
	      100 * IO_CALLS, 100 * IO_CALLS + 1);
	truth("expect-stack jdk.SocketRead count=%d thread=exact-client tcp_client ...", IO_CALLS);
}

static void *pair_calls(void *unused)
{
	struct pollfd polled;
	char buffer[64] = "x";
	int pair[2];

	call_me("exact-pair");
	TRUTH_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	polled = (struct pollfd){ .fd = pair[1], .events = POLLIN };
	for (int i = 0; i < IO_CALLS; i++) {
		TRUTH_CHECK(write(pair[0], buffer, 7) == 7);
		TRUTH_CHECK(poll(&polled, 1, 1000) == 1);
		TRUTH_CHECK(read(pair[1], buffer, sizeof(buffer)) == 7);
	}
	close(pair[0]);
	close(pair[1]);
	(void)unused;
	return NULL;
}

static void pairs(void)
{
	in_thread(pair_calls, NULL);
	truth("expect jdk.SocketWrite count=%d thread=exact-pair bytesWritten=7", IO_CALLS);
	truth("expect jdk.SocketRead count=%d thread=exact-pair bytesRead=7", IO_CALLS);
	truth("expect holter.Poll count=%d thread=exact-pair call=poll timeout=1000 ready=1",
	      IO_CALLS);
}

static void *file_calls(void *path)
{
	char buffer[512] = "line";
	int fd;

	call_me("exact-file");
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	TRUTH_CHECK(fd >= 0);
	for (int i = 0; i < IO_CALLS; i++)
		TRUTH_CHECK(write(fd, buffer, 111) == 111);
	for (int i = 0; i < 3; i++)
		TRUTH_CHECK(fsync(fd) == 0);
	for (int i = 0; i < 4; i++)
		TRUTH_CHECK(fdatasync(fd) == 0);
	for (int i = 0; i < IO_CALLS; i++)
		TRUTH_CHECK(pread(fd, buffer, 37, i) == 37);
	TRUTH_CHECK(lseek(fd, 0, SEEK_END) == 111 * IO_CALLS);
	TRUTH_CHECK(read(fd, buffer, sizeof(buffer)) == 0);
	close(fd);
	TRUTH_CHECK(open("/nonexistent/holter", O_RDONLY) < 0 && errno == ENOENT);
	return NULL;
}

static void files(void)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/data", folder);
	in_thread(file_calls, path);
	unlink(path);
	truth("expect holter.FileOpen count=1 thread=exact-file path=%s error=0 process=%d", path,
	      getpid());
	truth("expect holter.FileOpen count=1 thread=exact-file path=/nonexistent/holter error=%d",
	      ENOENT);
	truth("expect holter.CallFailed count=1 thread=exact-file call=open error=%d", ENOENT);
	truth("expect jdk.FileWrite count=%d thread=exact-file path=%s bytesWritten=111", IO_CALLS,
	      path);
	truth("expect jdk.FileRead count=%d thread=exact-file path=%s bytesRead=37 endOfFile=false",
	      IO_CALLS, path);
	truth("expect jdk.FileRead count=1 thread=exact-file path=%s bytesRead=0 endOfFile=true",
	      path);
	truth("expect jdk.FileForce count=3 thread=exact-file path=%s metaData=true", path);
	truth("expect jdk.FileForce count=4 thread=exact-file path=%s metaData=false", path);
	truth("expect-stack jdk.FileWrite count=%d thread=exact-file file_calls ...", IO_CALLS);
}

static void *worker(void *unused)
{
	call_me("exact-worker");
	(void)unused;
	return NULL;
}

static void threads(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		TRUTH_CHECK(pthread_create(&thread[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		TRUTH_CHECK(pthread_join(thread[i], NULL) == 0);
	truth("expect jdk.ThreadStart count=%d thread.osName=exact-worker "
	      "parentThread.osThreadId=%d",
	      THREADS, getpid());
	truth("expect jdk.ThreadEnd count=%d thread.osName=exact-worker", THREADS);
	truth("expect-stack jdk.ThreadStart count=%d thread.osName=exact-worker threads main ...",
	      THREADS);
}

static void *sleep_calls(void *unused)
{
	call_me("exact-sleeper");
	for (int i = 0; i < SLEEPS; i++)
		sleep_ms(4);
	usleep(3000);
	(void)unused;
	return NULL;
}

static void sleeps(void)
{
	in_thread(sleep_calls, NULL);
	truth("expect jdk.ThreadSleep count=%d thread=exact-sleeper time=4ms duration>=4ms",
	      SLEEPS);
	truth("expect jdk.ThreadSleep count=1 thread=exact-sleeper time=3ms duration>=3ms");
}

static void processes(void)
{
	extern char **environ;
	char *arguments[] = { "true", NULL };
	pid_t forked, spawned;
	int status;

	forked = fork();
	TRUTH_CHECK(forked >= 0);
	if (forked == 0) {
		sink = (uintptr_t)malloc(7771);
		_exit(7);
	}
	TRUTH_CHECK(waitpid(forked, &status, 0) == forked);
	TRUTH_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	TRUTH_CHECK(posix_spawn(&spawned, "/bin/true", NULL, NULL, arguments, environ) == 0);
	TRUTH_CHECK(waitpid(spawned, &status, 0) == spawned && status == 0);
	truth("expect holter.ProcessFork count=1 child=%d process=%d", forked, getpid());
	truth("expect jdk.ProcessStart count=1 pid=%d command~true eventThread.osThreadId=%d",
	      spawned, getpid());
	truth("expect holter.ProcessExit count=1 pid=%d status=7 eventThread.osThreadId=%d", forked,
	      forked);
	truth("expect profiler.Malloc count=1 size=7771 eventThread.osThreadId=%d", forked);
	truth("expect-stack holter.ProcessFork count=1 processes main ...");
}

static void *other_calls(void *unused)
{
	struct addrinfo hints = { .ai_flags = AI_NUMERICHOST }, *result;
	void *page, *library;

	call_me("exact-other");
	TRUTH_CHECK(getaddrinfo("127.0.0.1", NULL, &hints, &result) == 0);
	freeaddrinfo(result);
	page = mmap(NULL, 12288, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	TRUTH_CHECK(page != MAP_FAILED);
	TRUTH_CHECK(munmap(page, 12288) == 0);
	truth("expect holter.MemoryMap count=1 thread=exact-other call=mmap size=12288 address=%lu",
	      (unsigned long)page);
	truth("expect holter.MemoryMap count=1 thread=exact-other call=munmap size=12288 "
	      "address=%lu",
	      (unsigned long)page);
	library = dlopen("libanl.so.1", RTLD_NOW);
	TRUTH_CHECK(library != NULL);
	TRUTH_CHECK(dlclose(library) == 0);
	TRUTH_CHECK(dlopen("libnowhere.so", RTLD_NOW) == NULL);
	(void)unused;
	return NULL;
}

static void others(void)
{
	in_thread(other_calls, NULL);
	truth("expect holter.NameLookup count=1 thread=exact-other call=getaddrinfo name=127.0.0.1 "
	      "result=0");
	truth("expect holter.LibraryLoad count=1 thread=exact-other call=dlopen path~libanl "
	      "error=null");
	truth("expect holter.LibraryLoad count=1 thread=exact-other call=dlclose");
	truth("expect holter.LibraryLoad count=1 thread=exact-other call=dlopen path=libnowhere.so "
	      "error!=null");
}

int main(void)
{
	TRUTH_CHECK(mkdtemp(folder) != NULL);
	memory();
	locks();
	conditions();
	semaphores();
	tcp();
	pairs();
	files();
	threads();
	sleeps();
	others();
	processes();
	rmdir(folder);
	truth("expect jdk.JVMInformation count=1 pid=%d", getpid());
	truth("done");
	truth_flush();
	return 3;
}
