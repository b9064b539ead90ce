/*
 * Instructions that a server executes per request, all of them and those of a preloaded shim, by
 * stepping through its main thread: counts, no times, and no counters of the processor needed.
 *
 *   bench_steps REQUESTS PORT SERVER ARGS...
 *
 * In: a redis-server, started here with the environment as it is. Out: `all N` and `shim N`,
 * instructions in user mode per GET request, one request at a time. A repeated string instruction
 * counts once.
 */
#include <arpa/inet.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#define WARM_UP 200
#define TOO_MANY 12000 /* steps: the server's timer struck within the request */
#define REQUESTS_MAX 100

struct counts {
	unsigned long all;
	unsigned long shim;
};

static const char request[] = "*2\r\n$3\r\nGET\r\n$5\r\nkey:1\r\n";
static unsigned long shim_begin, shim_end; /* where the code of the shim lies */

static int connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; i < 400; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
			return fd;
		close(fd);
		usleep(20000);
	}
	return -1;
}

static int make_requests(int fd, int count)
{
	char answer[256];

	for (int i = 0; i < count; i++)
		if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0 ||
		    recv(fd, answer, sizeof(answer), 0) <= 0)
			return -1;
	return 0;
}

static void find_shim(pid_t pid)
{
	unsigned long low, high;
	char line[512], path[64], flags[8];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps))
		if ((strstr(line, "/libholter.so") || strstr(line, "/noop_shim.so")) &&
		    sscanf(line, "%lx-%lx %7s", &low, &high, flags) == 3 && flags[2] == 'x') {
			shim_begin = low;
			shim_end = high;
		}
	if (maps)
		fclose(maps);
}

/* Is the server about to wait for events? */
static int is_waiting(pid_t pid, const struct user_regs_struct *regs)
{
	if (regs->rax != SYS_epoll_wait && regs->rax != SYS_epoll_pwait)
		return 0;
	return (ptrace(PTRACE_PEEKTEXT, pid, (void *)regs->rip, NULL) & 0xffff) == 0x050f;
}

/*
 * Steps until the server waits for events again and, with `fd` >= 0, has answered there.
 * Returns 0; 1 when that took too long; -1 when the server cannot be traced.
 */
static int step(pid_t pid, int fd, struct counts *counts)
{
	struct user_regs_struct regs = { .rip = 0 };
	unsigned long last = 0;
	char answer[256];
	int deliver = 0, is_answered = fd < 0, status;

	*counts = (struct counts){ .all = 0 };
	while (counts->all < TOO_MANY) {
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(long)deliver) != 0 ||
		    waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
			return -1;
		deliver = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		counts->all += regs.rip != last;
		counts->shim += regs.rip != last && regs.rip >= shim_begin && regs.rip < shim_end;
		last = regs.rip;
		is_answered |= fd >= 0 && recv(fd, answer, sizeof(answer), MSG_DONTWAIT) > 0;
		if (is_answered && is_waiting(pid, &regs))
			return 0;
	}
	return 1;
}

/* Runs freely for a moment, so that its timer strikes there, and stops where it waits. */
static int rest(pid_t pid)
{
	struct counts unused;
	int status;

	if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0)
		return -1;
	usleep(5000);
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 || waitpid(pid, &status, __WALL) != pid)
		return -1;
	return step(pid, -1, &unused);
}

static int compare(const void *left, const void *right)
{
	unsigned long a = *(const unsigned long *)left, b = *(const unsigned long *)right;

	return (a > b) - (a < b);
}

static pid_t start(char **command)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(126);
		execvp(command[0], command);
		_exit(127);
	}
	return pid;
}

/* Medians over the requests. */
static int count_requests(pid_t server, int port, int requests, struct counts *counts)
{
	unsigned long all[REQUESTS_MAX], shim[REQUESTS_MAX];
	int fd = connect_to(port), status, done = 0;

	if (fd < 0 || make_requests(fd, WARM_UP) != 0)
		return -1;
	find_shim(server);
	if (ptrace(PTRACE_SEIZE, server, NULL, NULL) != 0 ||
	    ptrace(PTRACE_INTERRUPT, server, NULL, NULL) != 0 ||
	    waitpid(server, &status, __WALL) != server) {
		perror("bench_steps: ptrace");
		return -1;
	}
	while (done < requests) {
		int code = rest(server);

		if (code == 0) {
			if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
				return -1;
			code = step(server, fd, counts);
		}
		if (code < 0)
			return -1;
		all[done] = counts->all;
		shim[done] = counts->shim;
		done += code == 0;
		/* An answer that came after the steps ended is not the next one's. */
		if (code != 0 && ptrace(PTRACE_CONT, server, NULL, NULL) == 0) {
			usleep(20000);
			ptrace(PTRACE_INTERRUPT, server, NULL, NULL);
			waitpid(server, &status, __WALL);
			while (recv(fd, (char[64]){ 0 }, 64, MSG_DONTWAIT) > 0)
				;
		}
	}
	qsort(all, (size_t)done, sizeof(all[0]), compare);
	qsort(shim, (size_t)done, sizeof(shim[0]), compare);
	*counts = (struct counts){ .all = all[done / 2], .shim = shim[done / 2] };
	return 0;
}

int main(int argc, char **argv)
{
	struct counts counts = { 0 };
	int requests, code;
	cpu_set_t one;
	pid_t server;

	/* On one processor a step costs a switch, not a wake-up of another one. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	if (argc < 4 || (requests = atoi(argv[1])) < 1 || requests > REQUESTS_MAX) {
		fprintf(stderr, "bench_steps REQUESTS PORT SERVER ARGS...\n");
		return 2;
	}
	server = start(argv + 3);
	code = count_requests(server, atoi(argv[2]), requests, &counts);
	kill(server, SIGKILL);
	waitpid(server, NULL, __WALL);
	if (code != 0)
		return 1;
	printf("all %lu\nshim %lu\n", counts.all, counts.shim);
	return 0;
}
