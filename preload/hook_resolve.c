/*
 * Hooks of name resolution.
 *
 * In: the program's calls. Out: the real results and NameLookup: what was looked up, how it ended,
 * how long it took. Neither errno nor h_errno is changed. Never here: sockets that the resolver
 * opens.
 */
#include "preload/hook.h"

static inline __attribute__((always_inline)) bool is_off(void)
{
	return !pre_gate_any(PRE_GATE(SOCKET)) || !rec_enabled(EV_NameLookup);
}

/* `name` may be NULL; `result` is the call's own error number, 0 = found. */
static void looked_up(uint64_t start, enum ev_name call, const char *name, int result)
{
	uint64_t end = rec_clock_now();
	struct rec_thread *thread;

	if (!rec_wanted(EV_NameLookup, end - start))
		return;
	thread = pre_thread();
	if (thread == &rec_thread_mute || !rec_sampled(thread, EV_NameLookup))
		return;
	struct ev_NameLookup event = {
		.stack = rec_stack(thread, EV_NameLookup),
		.call = call,
		.name = name ? rec_string(thread, name, strnlen(name, NI_MAXHOST)) : 0,
		.result = (uint32_t)result,
		.process = rec_process_own()->pid,
	};

	rec_emit_NameLookup(thread, start, end, &event);
}

PRE_SLOW int slow_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			      struct addrinfo **result)
{
	uint64_t start = rec_clock_now();
	int error = pre_real.getaddrinfo(node, service, hints, result);

	looked_up(start, EV_NAME_getaddrinfo, node, error);
	return error;
}

PRE_HOOK int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
			 struct addrinfo **result)
{
	if (likely(is_off()))
		return pre_real.getaddrinfo(node, service, hints, result);
	return slow_getaddrinfo(node, service, hints, result);
}

PRE_SLOW int slow_getnameinfo(const struct sockaddr *address, socklen_t length, char *host,
			      socklen_t host_size, char *service, socklen_t service_size, int flags)
{
	uint64_t start = rec_clock_now();
	int error = pre_real.getnameinfo(address, length, host, host_size, service, service_size,
					 flags);

	looked_up(start, EV_NAME_getnameinfo, error == 0 && host_size ? host : NULL, error);
	return error;
}

PRE_HOOK int getnameinfo(const struct sockaddr *address, socklen_t length, char *host,
			 socklen_t host_size, char *service, socklen_t service_size, int flags)
{
	if (likely(is_off()))
		return pre_real.getnameinfo(address, length, host, host_size, service, service_size,
					    flags);
	return slow_getnameinfo(address, length, host, host_size, service, service_size, flags);
}

PRE_SLOW struct hostent *slow_gethostbyname(const char *name)
{
	uint64_t start = rec_clock_now();
	struct hostent *found = pre_real.gethostbyname(name);

	looked_up(start, EV_NAME_gethostbyname, name, found ? 0 : h_errno);
	return found;
}

PRE_HOOK struct hostent *gethostbyname(const char *name)
{
	if (likely(is_off()))
		return pre_real.gethostbyname(name);
	return slow_gethostbyname(name);
}

PRE_SLOW struct hostent *slow_gethostbyname2(const char *name, int family)
{
	uint64_t start = rec_clock_now();
	struct hostent *found = pre_real.gethostbyname2(name, family);

	looked_up(start, EV_NAME_gethostbyname, name, found ? 0 : h_errno);
	return found;
}

PRE_HOOK struct hostent *gethostbyname2(const char *name, int family)
{
	if (likely(is_off()))
		return pre_real.gethostbyname2(name, family);
	return slow_gethostbyname2(name, family);
}

PRE_SLOW struct hostent *slow_gethostbyaddr(const void *address, socklen_t length, int family)
{
	uint64_t start = rec_clock_now();
	struct hostent *found = pre_real.gethostbyaddr(address, length, family);

	looked_up(start, EV_NAME_gethostbyaddr, found ? found->h_name : NULL, found ? 0 : h_errno);
	return found;
}

PRE_HOOK struct hostent *gethostbyaddr(const void *address, socklen_t length, int family)
{
	if (likely(is_off()))
		return pre_real.gethostbyaddr(address, length, family);
	return slow_gethostbyaddr(address, length, family);
}

/* The re-entrant forms: not found is 0 with a NULL result and the reason in *error. */

PRE_SLOW int slow_gethostbyname_r(const char *name, struct hostent *entry, char *buffer,
				  size_t size, struct hostent **result, int *error)
{
	uint64_t start = rec_clock_now();
	int status = pre_real.gethostbyname_r(name, entry, buffer, size, result, error);

	looked_up(start, EV_NAME_gethostbyname, name, status == 0 && *result ? 0 : *error);
	return status;
}

PRE_HOOK int gethostbyname_r(const char *name, struct hostent *entry, char *buffer, size_t size,
			     struct hostent **result, int *error)
{
	if (likely(is_off()))
		return pre_real.gethostbyname_r(name, entry, buffer, size, result, error);
	return slow_gethostbyname_r(name, entry, buffer, size, result, error);
}

PRE_SLOW int slow_gethostbyname2_r(const char *name, int family, struct hostent *entry,
				   char *buffer, size_t size, struct hostent **result, int *error)
{
	uint64_t start = rec_clock_now();
	int status = pre_real.gethostbyname2_r(name, family, entry, buffer, size, result, error);

	looked_up(start, EV_NAME_gethostbyname, name, status == 0 && *result ? 0 : *error);
	return status;
}

PRE_HOOK int gethostbyname2_r(const char *name, int family, struct hostent *entry, char *buffer,
			      size_t size, struct hostent **result, int *error)
{
	if (likely(is_off()))
		return pre_real.gethostbyname2_r(name, family, entry, buffer, size, result, error);
	return slow_gethostbyname2_r(name, family, entry, buffer, size, result, error);
}

PRE_SLOW int slow_gethostbyaddr_r(const void *address, socklen_t length, int family,
				  struct hostent *entry, char *buffer, size_t size,
				  struct hostent **result, int *error)
{
	uint64_t start = rec_clock_now();
	int status = pre_real.gethostbyaddr_r(address, length, family, entry, buffer, size, result,
					      error);
	bool is_found = status == 0 && *result;

	looked_up(start, EV_NAME_gethostbyaddr, is_found ? (*result)->h_name : NULL,
		  is_found ? 0 : *error);
	return status;
}

PRE_HOOK int gethostbyaddr_r(const void *address, socklen_t length, int family,
			     struct hostent *entry, char *buffer, size_t size,
			     struct hostent **result, int *error)
{
	if (likely(is_off()))
		return pre_real.gethostbyaddr_r(address, length, family, entry, buffer, size,
						result, error);
	return slow_gethostbyaddr_r(address, length, family, entry, buffer, size, result, error);
}
