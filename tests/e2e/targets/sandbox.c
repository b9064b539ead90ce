/*
 * A program that puts itself under a seccomp filter and goes on with what the filter allows: the
 * recorder must make no system call then that the program does not make itself.
 *
 * In: how the filter comes (prctl, syscall, strict), or `trap`: a call that the filter traps, whose
 * SIGSYS ends the program. Out: lines that must be the same without the recorder.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "truth.h"

#define RULES_MAX 64

/* What malloc, read, write, a thread and exit need of the kernel, and nothing besides. */
static const int allowed[] = { SYS_read,       SYS_write,	    SYS_exit,
			       SYS_exit_group, SYS_rt_sigreturn,    SYS_brk,
			       SYS_mmap,       SYS_munmap,	    SYS_mprotect,
			       SYS_futex,      SYS_clone3,	    SYS_clone,
			       SYS_rseq,       SYS_set_robust_list, SYS_rt_sigprocmask,
			       SYS_close,      SYS_madvise };

static unsigned rules_allow(struct sock_filter *rules)
{
	unsigned count = 0;

	rules[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (unsigned)allowed[i], 0, 1);
		rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	return count;
}

static unsigned rules_trap(struct sock_filter *rules)
{
	unsigned count = 0;

	rules[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr));
	rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1);
	rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
	rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return count;
}

static void *work(void *result)
{
	for (size_t i = 0; i < 50000; i++)
		free(malloc(16 + i % 4096));
	return result;
}

static int enter(const char *how)
{
	struct sock_filter rules[RULES_MAX];
	struct sock_fprog program = { .filter = rules };

	program.len =
		(unsigned short)(strcmp(how, "trap") == 0 ? rules_trap(rules) : rules_allow(rules));
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if (strcmp(how, "strict") == 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	if (strcmp(how, "syscall") == 0)
		return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "prctl";
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char buffer[64];
	pthread_t thread;

	free(malloc(1 << 20)); /* what libc sets up at its first use is there */
	if (enter(how) != 0)
		return 3;
	if (strcmp(how, "trap") == 0) {
		syscall(SYS_getppid);
		return 4; /* never: SIGSYS has ended it */
	}
	for (int i = 0; i < 20000; i++)
		if (read(fd, buffer, sizeof(buffer)) != sizeof(buffer))
			return 5;
	if (strcmp(how, "strict") != 0) {
		work(NULL);
		for (int i = 0; i < 4; i++)
			if (pthread_create(&thread, NULL, work, NULL) != 0 ||
			    pthread_join(thread, NULL) != 0)
				return 6;
	}
	if (write(STDOUT_FILENO, "worked\n", 7) != 7)
		return 7;
	/* exit_group, which exit() makes, is not among what strict mode allows. */
	if (strcmp(how, "strict") == 0)
		syscall(SYS_exit, 0);
	_exit(0);
}
