/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/process_uid.h"

#include <stdio.h>
#include <sys/stat.h>

uint32_t process_uid_find(struct process_uid *u, uint32_t pid)
{
	return u->is_known ? u->uid : process_uid_ask(u, pid);
}

uint32_t process_uid_ask(struct process_uid *u, uint32_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (!stat(path, &st))
		u->uid = st.st_uid;
	u->is_known = true;
	return u->uid;
}
