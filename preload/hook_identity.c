/*
 * setuid and its kin: a server that is about to give up root has its leader started while it still
 * may.
 *
 * In: calls of the program. Out: the real call. A leader started later would run as the lesser
 * user, who may not open the region that root made. Never here: events.
 */
#include "preload/hook.h"
#include "preload/preload.h"

#include <unistd.h>

static void before_change(void)
{
	if (rec_family.base && !pre_is_mute() && geteuid() == 0 && !pre_leader_alive())
		pre_leader_start();
}

PRE_HOOK int setuid(uid_t uid)
{
	before_change();
	return pre_real.setuid(uid);
}

PRE_HOOK int seteuid(uid_t uid)
{
	before_change();
	return pre_real.seteuid(uid);
}

PRE_HOOK int setreuid(uid_t real, uid_t effective)
{
	before_change();
	return pre_real.setreuid(real, effective);
}

PRE_HOOK int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	before_change();
	return pre_real.setresuid(real, effective, saved);
}
