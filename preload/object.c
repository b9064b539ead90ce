/*
 * Finds loaded objects by address (object.h).
 *
 * In: the loader's tables. Out: link maps.
 */
#include "preload/object.h"

#include <dlfcn.h>
#include <stddef.h>

#pragma weak _dl_find_object /* glibc 2.35 */

const struct link_map *pre_object_of(const void *address)
{
	struct dl_find_object found;
	struct link_map *map = NULL;
	Dl_info info;

	if (_dl_find_object)
		return _dl_find_object((void *)(uintptr_t)address, &found) == 0
			       ? found.dlfo_link_map
			       : NULL;
	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 ? map : NULL;
}
