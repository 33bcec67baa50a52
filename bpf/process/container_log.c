/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/container_log.h"

#include <dirent.h>
#include <stdio.h>

/*
 * Cut off the first part of *name, which ends before `separator` or, if there
 * is no `separator`, at the end of *name. Copy this part to `to`. False: the
 * part is empty or too long.
 */
static bool container_log_part(struct str *name, char separator, char to[256])
{
	struct str part = str_cut(*name, separator, name);

	return part.len && str_to_array(part, to, 256);
}

bool container_log_parse(struct str name, struct str id,
			 struct container_log *out)
{
	size_t end = id.len + 5; /* "-ID.log" */

	if (name.len <= end || name.ptr[name.len - end] != '-' ||
	    memcmp(name.ptr + name.len - end + 1, id.ptr, id.len) != 0 ||
	    memcmp(name.ptr + name.len - 4, ".log", 4) != 0)
		return false;
	name.len -= end;
	/* Names of Kubernetes have no underscores. */
	return container_log_part(&name, '_', out->pod) &&
	       container_log_part(&name, '_', out->namespace) &&
	       container_log_part(&name, '_', out->container) && !name.len;
}

bool container_log_find(const char *dir, struct str id,
			struct container_log *out)
{
	DIR *d = dir ? opendir(dir) : NULL;
	bool found = false;
	struct dirent *e;

	if (!d)
		return false;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the directory is ours alone */
	while (!found && (e = readdir(d)))
		found = container_log_parse(str_of(e->d_name), id, out);
	closedir(d);
	return found;
}
