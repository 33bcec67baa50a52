/* SPDX-License-Identifier: Apache-2.0 */
/*
 * View server: a server of everprof for the time of one command, in a process of its own
 * on a loopback address, with a data directory that is removed with it.
 *
 * Ownership: the caller stops a server that was started.
 * Threads: one thread, which has blocked SIGCHLD.
 */
#ifndef CMD_TOOLS_VIEW_SERVER_H
#define CMD_TOOLS_VIEW_SERVER_H

#include <sys/types.h>

#include "base/err.h"

/* How to start it; the texts are borrowed for the call. */
struct view_server_options {
	const char *symbols_path; /* see --symbols.path of serve */
	const char *source_path;  /* see --query.source-path; NULL: none */
	int64_t max_profile;      /* see --scrape.max-profile-size, in bytes */
};

/* A server. */
struct view_server {
	char *dir; /* its folder */
	pid_t pid;
	char url[128];
};

/*
 * Start a server, and wait until it answers. Errors of making its folder and process;
 * ERR_CLOSED: it has ended, and has said why on stderr. The caller calls
 * view_server_stop() in any case.
 */
NODISCARD int view_server_start(struct view_server *s,
				const struct view_server_options *o,
				struct err *err);

/* Whether it has ended by itself. */
bool view_server_has_ended(struct view_server *s);

/* End it, and remove its folder. */
void view_server_stop(struct view_server *s);

#endif
