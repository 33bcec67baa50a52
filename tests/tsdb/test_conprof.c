/* SPDX-License-Identifier: Apache-2.0 */
/* Walks through data directories of conprof, whole and damaged. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/table.h"
#include "base/vec.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/sample.h"
#include "tsdb/open/tsdb.h"
#include "tsdb/tools/conprof.h"

TestSuite(conprof, .timeout = 120);

#define PROFILES 2880 /* in testdata/conprof-data.tar.gz */
#define FIRST_MS 1795232208815LL

/* A directory that conprof left, and what a walk found in it. */
struct journey {
	struct tempdir dir;
	char path[200];
	int64_t from; /* the times that are wanted */
	int64_t to;
	size_t end_after; /* the visit with this number fails; 0: none */
	size_t visits;
	size_t bytes;
	size_t strangers; /* visits that were not wanted */
	size_t damages;
	char damage[512];   /* the first */
	VEC(uint64_t) seen; /* hashes of labels, time and bytes, each once */
	struct table index;
};

static bool same_number(const void *ctx, uint32_t number, const void *key)
{
	const struct journey *j = ctx;

	return j->seen.v[number] == *(const uint64_t *)key;
}

static bool is_wanted(void *ctx, int64_t ms)
{
	const struct journey *j = ctx;

	return ms >= j->from && ms <= j->to;
}

static int visit_profile(void *ctx, const char *path, struct labels *labels,
			 int64_t ms, struct bytes value, struct err *err)
{
	struct journey *j = ctx;
	uint64_t id = labels_digest(labels) ^
		      (uint64_t)ms * 0x9e3779b97f4a7c15u ^ hash_bytes(value);

	cr_expect(!strncmp(path, j->path, strlen(j->path)), "%s", path);
	cr_expect(labels_get(labels, str_of("__name__")).len > 0);
	j->strangers += !is_wanted(ctx, ms);
	j->bytes += value.len;
	if (table_find(&j->index, id, same_number, j, &id) == TABLE_NONE) {
		table_add(&j->index, id, (uint32_t)j->seen.count);
		*vec_add(&j->seen) = id;
	}
	if (++j->visits == j->end_after)
		return err_set(err, ERR_NOSPACE, "the visitor had enough");
	return 0;
}

static void note_damage(void *ctx, const struct err *err)
{
	struct journey *j = ctx;

	if (!j->damages++)
		snprintf(j->damage, sizeof(j->damage), "%s", err->msg);
}

static struct journey *journey_new(void)
{
	struct journey *j = mem_new(struct journey);
	CLEANUP(mem_freep) char *command = NULL;

	j->dir = tempdir_make();
	j->from = INT64_MIN;
	j->to = INT64_MAX;
	snprintf(j->path, sizeof(j->path), "%s/conprof-data", j->dir.path);
	command = mem_printf("tar -C %s -xzf %s/conprof-data.tar.gz",
			     j->dir.path, TESTDATA);
	cr_assert(!system(command));
	return j;
}

static int journey_go(struct journey *j, struct err *err)
{
	const struct conprof_visitor v = { .wants = is_wanted,
					   .visit = visit_profile,
					   .damaged = note_damage,
					   .ctx = j };

	return conprof_walk(j->path, &v, err);
}

static void journey_free(struct journey *j)
{
	tempdir_fini(&j->dir);
	vec_fini(&j->seen);
	table_fini(&j->index);
	mem_free(j);
}

/* Runs a shell command in the directory. */
static void journey_spoil(struct journey *j, const char *what)
{
	CLEANUP(mem_freep)
	char *command = mem_printf("cd %s && %s", j->path, what);

	cr_assert(!system(command), "%s", what);
}

Test(conprof, every_profile_is_visited)
{
	struct journey *j = journey_new();
	struct err err = { .msg = "" };

	cr_expect(!journey_go(j, &err), "%s", err.msg);
	cr_expect(j->seen.count == PROFILES, "%zu", j->seen.count);
	cr_assert(j->visits >= PROFILES);
	cr_expect(j->bytes > PROFILES * 100);
	cr_expect(!j->damages, "%s", j->damage);
	journey_free(j);
}

Test(conprof, only_wanted_times_are_visited)
{
	static const struct {
		int64_t from;
		int64_t to;
		bool any;
	} cases[] = {
		{ INT64_MIN, FIRST_MS - 3600000, false },
		{ FIRST_MS, FIRST_MS, true },
		{ FIRST_MS + 1, FIRST_MS + 1, false },
		{ FIRST_MS, FIRST_MS + 60000, true },
		{ FIRST_MS + 1000LL * 86400 * 365, INT64_MAX, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct journey *j = journey_new();

		j->from = cases[i].from;
		j->to = cases[i].to;
		cr_expect(!journey_go(j, NULL));
		cr_expect((j->visits > 0) == cases[i].any, "%zu: %zu", i,
			  j->visits);
		cr_assert(!j->strangers);
		cr_expect(!j->damages);
		cr_expect(j->seen.count < PROFILES);
		journey_free(j);
	}
}

Test(conprof, an_error_of_the_visitor_ends_the_walk)
{
	static const size_t ends[] = { 1, 2, 1000, PROFILES };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct journey *j = journey_new();
		struct err err = { .msg = "" };

		j->end_after = ends[i];
		cr_expect(journey_go(j, &err) == ERR_NOSPACE);
		cr_expect(!strcmp(err.msg, "the visitor had enough"), "%s",
			  err.msg);
		cr_expect(j->visits == ends[i], "%zu", j->visits);
		journey_free(j);
	}
}

/*
 * Commands that remove some of the places where profiles are. These are blocks,
 * head chunks and the WAL; most profiles are in two of them.
 */
#define BLOCKS_ONLY "rm wal/* chunks_head/*"
#define WAL_ONLY    "rm -r 01* chunks_head"
#define HEAD_ONLY   "rm -r 01*"

#define OVERWRITE(files, at)                                  \
	"f=$(ls " files " | head -1) && printf 'XXXXXXXX' | " \
	"dd of=$f bs=1 seek=" at " conv=notrunc 2>/dev/null"

Test(conprof, damage_is_told_and_costs_what_lay_there)
{
	static const struct {
		const char *name;
		const char *only; /* removes the other places of profiles */
		const char *what;
		const char *says;
	} cases[] = {
		{ "a chunk of a block", BLOCKS_ONLY,
		  OVERWRITE("*/chunks/000001", "2000"), "is damaged" },
		{ "the chunks of a block", BLOCKS_ONLY,
		  "rm $(ls */chunks/000001 | head -1)", "is damaged" },
		{ "an empty index", BLOCKS_ONLY,
		  "f=$(ls */index | head -1) && : >$f", "skipped" },
		{ "a block without an index", BLOCKS_ONLY,
		  "rm $(ls */index | head -1)", "skipped" },
		{ "a record of the WAL", WAL_ONLY,
		  OVERWRITE("wal/00000001", "5000"), "wal/" },
		{ "a segment of the WAL cut short", WAL_ONLY,
		  "truncate -s 5000 wal/00000001", "wal/" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct journey *whole = journey_new();
		struct journey *j = journey_new();
		struct err err = { .msg = "" };

		journey_spoil(whole, cases[i].only);
		cr_expect(!journey_go(whole, &err), "%s", err.msg);
		cr_expect(!whole->damages, "%s", whole->damage);
		journey_spoil(j, cases[i].only);
		journey_spoil(j, cases[i].what);
		cr_expect(!journey_go(j, &err), "%s: %s", cases[i].name,
			  err.msg);
		cr_assert(j->seen.count > 0, "%s: %zu of %zu", cases[i].name,
			  j->seen.count, whole->seen.count);
		cr_expect(j->seen.count < whole->seen.count, "%s: %zu of %zu",
			  cases[i].name, j->seen.count, whole->seen.count);
		cr_assert(j->damages, "%s: %s", cases[i].name, j->damage);
		cr_assert(strstr(j->damage, cases[i].says), "%s: %s",
			  cases[i].name, j->damage);
		cr_expect(strstr(j->damage, j->path), "%s: %s", cases[i].name,
			  j->damage);
		journey_free(whole);
		journey_free(j);
	}
}

Test(conprof, what_is_in_several_places_is_lost_in_none)
{
	static const char *const removed[] = { WAL_ONLY, HEAD_ONLY,
					       "rm -r chunks_head",
					       "rm wal/* && rm -r 01*" };

	for (size_t i = 0; i < ARRAY_SIZE(removed); i++) {
		struct journey *j = journey_new();

		journey_spoil(j, removed[i]);
		cr_expect(!journey_go(j, NULL));
		cr_expect((j->seen.count == PROFILES) == (i < 3), "%s: %zu",
			  removed[i], j->seen.count);
		journey_free(j);
	}
}

Test(conprof, a_directory_that_is_not_there_is_an_error)
{
	struct journey *j = journey_new();
	struct err err = { .msg = "" };

	tempdir_clear(j->path);
	cr_expect(journey_go(j, &err) < 0);
	cr_expect(strstr(err.msg, j->path), "%s", err.msg);
	cr_expect(!j->visits);
	journey_free(j);
}

Test(conprof, directories_are_told_apart)
{
	static const struct {
		const char *made;
		bool want;
	} cases[] = {
		{ "true", true },
		{ "rm -r chunks_head 01*", true },
		{ "mkdir ranges", false },
		{ "rm -r wal", false },
		{ "rm -r wal && touch wal", false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct journey *j = journey_new();

		journey_spoil(j, cases[i].made);
		cr_expect(conprof_is_dir(j->path) == cases[i].want, "%s",
			  cases[i].made);
		tempdir_clear(j->path);
		cr_expect(!conprof_is_dir(j->path));
		journey_free(j);
	}
}
