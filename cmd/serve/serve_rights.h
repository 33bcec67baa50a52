/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Privileges of a server: it gives up all capabilities that it does not need,
 * warns when it runs as root or when its secrets are readable by everybody, and
 * protects itself from being traced.
 *
 * Threads: before other threads start.
 */
#ifndef CMD_SERVE_SERVE_RIGHTS_H
#define CMD_SERVE_SERVE_RIGHTS_H

#include "base/log.h"

/*
 * Allow up to 65536 open files, as far as the system allows them: each target
 * and each service of Consul needs a connection, and files of programs that are
 * profiled stay open.
 */
void rights_raise_files(void);

/*
 * Forbid core dumps: one would contain passwords and profiles and be as large
 * as the memory. Raise the limit on open files.
 */
void rights_set_limits(void);

/*
 * If this is root: give up all capabilities that a server with the eBPF
 * collector does not need, for this process and all that it starts.
 */
NODISCARD int rights_drop(struct err *err);

/*
 * Warn about running as root, and about a web configuration file (NULL: there
 * is none) that every user can access.
 */
void rights_warn(const struct log *log, const char *web_config);

#endif
