/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A database on a disk that misbehaves on demand: calls that fail, and files
 * that somebody meddles with.
 */
#ifndef TESTS_TSDB_MISHAP_H
#define TESTS_TSDB_MISHAP_H

#include "tests/tsdb/fixture.h"

static inline void arm(struct fixture *f, enum fs_op op, const char *part,
		       int number, int times)
{
	hook_arm(&f->hook, op, part, number, times);
}

static inline void break_sector(struct fixture *f, const char *part,
				uint64_t from, uint64_t to)
{
	f->hook.from = from;
	f->hook.to = to;
	f->hook.misses = 0;
	f->hook.sector = part;
}

/*
 * Counts the profiles that the command `dump` would find in the directory.
 * Changes nothing in the directory.
 */
static inline size_t count_dumped(struct fixture *f)
{
	struct metrics *m = metrics_new();
	struct tsdb_options o = f->o;
	struct tsdb *db = NULL;
	size_t sum = 0;

	o.metrics = m;
	o.read_only = true;
	if (!tsdb_open(&o, &db, NULL))
		sum = count_in(db);
	tsdb_close(db);
	metrics_free(m);
	return sum;
}

/*
 * Replaces the directory of the fixture by a copy as a power cut would leave
 * it, without what a clean stop writes. The database is closed afterwards.
 */
static inline void pull_the_plug(struct fixture *f)
{
	CLEANUP(mem_freep)
	char *copy = mem_printf("cp -r %s %s.copy", f->dir.path, f->dir.path);
	CLEANUP(mem_freep)
	char *swap = mem_printf("rm -r %s && mv %s.copy %s", f->dir.path,
				f->dir.path, f->dir.path);

	cr_assert(!system(copy));
	tsdb_close(f->db);
	f->db = NULL;
	cr_assert(!system(swap));
}

/* Runs a shell command in the data directory, while the database is open. */
static inline void meddle_live(struct fixture *f, const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && %s", f->dir.path, what);

	cr_assert(!system(command), "%s", what);
}

/* Closes the database, and runs a shell command in the data directory. */
static inline void meddle(struct fixture *f, const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && %s", f->dir.path, what);

	tsdb_close(f->db);
	f->db = NULL;
	cr_assert(!system(command));
}

#endif
