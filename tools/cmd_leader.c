/*
 * holter leader REGION: the leader as a process of its own (engine/engine.h).
 *
 * In: a region file, from `holter run` or from libholter.so inside a program. Out: dumps, periodic
 * events, the log. Not meant for people: it ends when the family is gone, or when another one
 * leads. Nothing is printed: its descriptors 0 to 2 are /dev/null.
 */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "recorder/engine/engine.h"
#include "tools/cmd.h"
#include "tools/cmd_region.h"
#include "tools/death_watch.h"
#include "tools/symbolizer.h"

/* What is meant for the program's session must not end its recorder. SIGTERM may. */
static void ignore_signals(void)
{
	static const int ignored[] = { SIGHUP,	SIGINT,	 SIGQUIT, SIGPIPE, SIGTTOU, SIGTTIN,
				       SIGTSTP, SIGUSR1, SIGUSR2, SIGALRM, SIGXFSZ };
	sigset_t none;

	for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int cli_leader(int argc, char **argv)
{
	static const struct cli_option options[] = { CLI_OPTION_END };
	struct rec_engine_options engine = { .in_thread = 0 };
	struct rec_region region;
	int at = cli_options(argc, argv, options, 0);
	int error;

	if (at < 0)
		return -at;
	if (argc - at != 1)
		return cli_usage("give one region file");
	ignore_signals();
	umask(077);
	prctl(PR_SET_NAME, "holter-leader");
	error = rec_region_open(&region, argv[at], 1);
	if (error)
		return cli_region_error(argv[at], error);
	engine.path = argv[at];
	engine.symbolizer = cli_symbolizer();
	engine.watch_context = cli_watch_start(&region);
	if (engine.watch_context)
		engine.watch = cli_watch_add;
	error = rec_engine_run(&region, &engine);
	if (error == HOLTER_E_BUSY)
		return CLI_DONE;
	return error ? cli_failed("%s: %s", argv[at], holter_error_text(error)) : CLI_DONE;
}
