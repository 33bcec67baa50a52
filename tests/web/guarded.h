/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authentication by a web configuration file that a test can change.
 *
 * Ownership: guarded_end() frees what guarded_begin() made. Threads: the file
 * may be replaced while other threads use `auth`.
 */
#ifndef EVERPROF_TESTS_WEB_GUARDED_H
#define EVERPROF_TESTS_WEB_GUARDED_H

#include <stdio.h>

#include "tests/check.h"
#include "tests/tempdir.h"
#include "web/auth/auth.h"

/* The bcrypt hashes of "secret" and "hunter2", at the lowest cost. */
#define SALT        "$2b$04$abcdefghijklmnopqrstuu"
#define HASH_SECRET SALT "2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
#define HASH_HUNTER SALT "V3duMsC0HpUex6N9qapiuOHHWkwRXVm"

struct guarded {
	struct tempdir dir;
	char path[200];
	struct log log;
	struct auth *auth;
};

/* Replaces the file by a rename, so that the path leads to another file. */
static inline void guarded_put(const struct guarded *g, const char *text)
{
	char tmp[220];
	FILE *f;

	snprintf(tmp, sizeof(tmp), "%s.tmp", g->path);
	f = fopen(tmp, "w");
	cr_assert(f);
	cr_assert(fputs(text, f) >= 0);
	cr_assert(!fclose(f));
	cr_assert(!rename(tmp, g->path));
}

/* Makes a folder with a file of this text, and loads the file. */
static inline void guarded_begin(struct guarded *g, const char *text)
{
	struct err err = { 0 };

	*g = (struct guarded){ .dir = tempdir_make(),
			       .log = { .level = LOG_ERROR + 1 } };
	snprintf(g->path, sizeof(g->path), "%s/web.yml", g->dir.path);
	guarded_put(g, text);
	cr_assert(!auth_new(g->path, &g->log, &g->auth, &err), "%s", err.msg);
}

/* Frees the authentication, and removes the folder. */
static inline void guarded_end(struct guarded *g)
{
	auth_free(g->auth);
	tempdir_fini(&g->dir);
}

#endif
