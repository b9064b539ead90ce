/*
 * A small threaded server and its load, for `make demo` where redis cannot be installed, and as a
 * case.
 *
 *   mini_server                  serves itself and tells the truth
 *   mini_server serve PORT       until SIGTERM
 *   mini_server load PORT N      N requests over 8 connections
 *
 * A request is a line "get KEY" or "set KEY BYTES", the reply a line. All connections share a table
 * under one mutex, which some requests hold for long: what a recording of it must show.
 */
#include "tests/e2e/targets/truth.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#define KEYS 1024
#define CONNECTIONS 8
#define SELF_REQUESTS 400

static struct {
	pthread_mutex_t lock;
	char *value[KEYS];
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int listener;
static unsigned request_count;

static __attribute__((noinline)) void table_set(unsigned key, size_t bytes)
{
	char *fresh = malloc(bytes + 1);

	memset(fresh, 'v', bytes);
	fresh[bytes] = 0;
	pthread_mutex_lock(&table.lock);
	free(table.value[key]);
	table.value[key] = fresh;
	pthread_mutex_unlock(&table.lock);
}

static __attribute__((noinline)) size_t table_get(unsigned key)
{
	struct timespec pause = { 0, 2000000 };
	size_t length;

	pthread_mutex_lock(&table.lock);
	length = table.value[key] ? strlen(table.value[key]) : 0;
	if (key % 16 == 0) /* a look-up that takes its time, as a badly sized hash table would */
		nanosleep(&pause, NULL);
	pthread_mutex_unlock(&table.lock);
	return length;
}

/* One request line; writes the reply's length into `reply`. */
static int answer(const char *line, char *reply, size_t room)
{
	unsigned key, bytes;

	if (sscanf(line, "set %u %u", &key, &bytes) == 2) {
		table_set(key % KEYS, bytes);
		return snprintf(reply, room, "stored\n");
	}
	if (sscanf(line, "get %u", &key) == 1)
		return snprintf(reply, room, "%zu\n", table_get(key % KEYS));
	return snprintf(reply, room, "error\n");
}

static void *connection(void *argument)
{
	int fd = (int)(intptr_t)argument, length;
	char line[256], reply[64];
	ssize_t n;

	pthread_setname_np(pthread_self(), "mini-worker");
	while ((n = recv(fd, line, sizeof(line) - 1, 0)) > 0) {
		line[n] = 0; /* a client sends its next line only after the reply */
		length = answer(line, reply, sizeof(reply));
		if (send(fd, reply, (size_t)length, MSG_NOSIGNAL) != length)
			break;
	}
	close(fd);
	return NULL;
}

static void *acceptor(void *unused)
{
	pthread_t thread;
	int fd, one = 1;

	pthread_setname_np(pthread_self(), "mini-accept");
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		TRUTH_CHECK(pthread_create(&thread, NULL, connection, (void *)(intptr_t)fd) == 0);
		pthread_detach(thread);
	}
	(void)unused;
	return NULL;
}

static int listen_on(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	socklen_t length = sizeof(address);
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	TRUTH_CHECK(bind(listener, (struct sockaddr *)&address, length) == 0);
	TRUTH_CHECK(listen(listener, 64) == 0);
	TRUTH_CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
	return ntohs(address.sin_port);
}

struct client {
	int port;
	unsigned number, requests;
};

static void *client(void *argument)
{
	struct client *self = argument;
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)self->port) };
	char line[64], reply[64];
	int fd, one = 1, length;

	pthread_setname_np(pthread_self(), "mini-client");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	TRUTH_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	for (unsigned i = 0; i < self->requests; i++) {
		unsigned key = (i * 37 + self->number * 101) % KEYS;

		if (i % 3 == 0)
			length = snprintf(line, sizeof(line), "set %u %u\n", key, 100 + key * 16);
		else
			length = snprintf(line, sizeof(line), "get %u\n", key);
		TRUTH_CHECK(write(fd, line, (size_t)length) == length);
		TRUTH_CHECK(read(fd, reply, sizeof(reply)) > 0);
		__atomic_add_fetch(&request_count, 1, __ATOMIC_RELAXED);
	}
	close(fd);
	return NULL;
}

static void load(int port, unsigned requests)
{
	static struct client clients[CONNECTIONS];
	pthread_t thread[CONNECTIONS];

	for (unsigned i = 0; i < CONNECTIONS; i++) {
		clients[i] = (struct client){ port, i, requests / CONNECTIONS };
		TRUTH_CHECK(pthread_create(&thread[i], NULL, client, &clients[i]) == 0);
	}
	for (unsigned i = 0; i < CONNECTIONS; i++)
		pthread_join(thread[i], NULL);
}

static int serve_itself(void)
{
	int port = listen_on(0);
	pthread_t thread;

	TRUTH_CHECK(pthread_create(&thread, NULL, acceptor, NULL) == 0);
	load(port, SELF_REQUESTS);
	truth("expect jdk.SocketWrite count=%d thread=mini-client port=%d address=127.0.0.1",
	      SELF_REQUESTS, port);
	truth("expect jdk.SocketRead count=%d thread=mini-client port=%d", SELF_REQUESTS, port);
	truth("expect jdk.SocketWrite count=%d thread=mini-worker", SELF_REQUESTS);
	truth("expect holter.SocketConnect count=%d thread=mini-client error=0", CONNECTIONS);
	truth("expect holter.SocketAccept count=%d thread=mini-accept", CONNECTIONS);
	truth("expect-stack profiler.Malloc table_set answer connection ...");
	truth("expect-stack jdk.ThreadSleep table_get answer connection ...");
	truth("requests %u", request_count);
	truth_ready();
	return 0;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 1)
		return serve_itself();
	if (argc == 3 && strcmp(argv[1], "serve") == 0) {
		listen_on(atoi(argv[2]));
		acceptor(NULL);
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "load") == 0) {
		load(atoi(argv[2]), (unsigned)atoi(argv[3]));
		return 0;
	}
	fputs("usage: mini_server [serve PORT | load PORT REQUESTS]\n", stderr);
	return 2;
}
