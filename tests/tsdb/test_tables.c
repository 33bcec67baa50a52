/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of dictionary tables: opened once, kept while there is memory or a
 * reader, and never believed unverified.
 */
#include "tsdb/chunk/tables.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"

TestSuite(tables, .timeout = 60);

#define MEMORY 100 /* of each table */
#define LEN    16  /* of each stored table */

static int opened;
static int alive;
static int open_rc;

static int count_open(struct bytes stored, struct codec_table **out,
		      struct err *err)
{
	if (open_rc)
		return err_set(err, open_rc, "refused");
	cr_expect(stored.len == LEN);
	opened++;
	alive++;
	*out = mem_dup(stored.ptr, stored.len);
	return 0;
}

static void count_free(struct codec_table *t)
{
	alive--;
	mem_free(t);
}

static size_t table_size(const struct codec_table *t)
{
	(void)t;
	return MEMORY;
}

static const struct codec codec_counting = { .table_open = count_open,
					     .table_free = count_free,
					     .table_memory = table_size };

/* A file of eight tables, and a cache that has room for two. */
struct scene {
	struct tempdir dir;
	struct hook hook;
	struct file *f;
	struct tables *t;
	struct table_place at[8];
};

static void scene_init(struct scene *s)
{
	char path[160];
	uint8_t bytes[8 * LEN];

	*s = (struct scene){ .dir = tempdir_make(), .hook = hook_make() };
	snprintf(path, sizeof(path), "%s/values", s->dir.path);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7);
	cr_assert(!file_open(&s->hook.fs, path, FILE_CREATE, &s->f, NULL));
	cr_assert(!file_write(s->f, 0, (struct bytes){ bytes, sizeof(bytes) },
			      NULL));
	for (size_t i = 0; i < 8; i++) {
		struct bytes b = { bytes + i * LEN, LEN };

		s->at[i] = (struct table_place){ .owner = s,
						 .number = 1,
						 .file = s->f,
						 .at = { .offset = i * LEN,
							 .len = LEN,
							 .crc = crc32c_extend(
								 0, b) } };
	}
	opened = alive = open_rc = 0;
	s->t = tables_new(&codec_counting, 2 * MEMORY);
}

static void scene_fini(struct scene *s)
{
	tables_free(s->t);
	cr_expect(alive == 0, "each table is freed once");
	file_close(s->f);
	tempdir_fini(&s->dir);
}

/* Get table n, which must be that one. */
static struct table_ref *get(struct scene *s, size_t n)
{
	struct table_ref *ref = NULL;

	cr_assert(!tables_get(s->t, &s->at[n], &ref, NULL));
	cr_expect(*(const uint8_t *)(const void *)ref->table ==
		  (uint8_t)(n * LEN * 7));
	return ref;
}

Test(tables, a_table_is_opened_once)
{
	struct scene s;
	struct table_ref *a;
	struct table_ref *b;

	scene_init(&s);
	a = get(&s, 0);
	b = get(&s, 0);
	cr_expect(a->table == b->table && opened == 1);
	tables_put(s.t, a);
	tables_put(s.t, b);
	tables_put(s.t, NULL);
	tables_put(s.t, get(&s, 0));
	cr_expect(opened == 1, "it is kept without a reader");
	tables_put(s.t, get(&s, 1));
	cr_expect(opened == 2);
	s.at[0].number = 2;
	tables_put(s.t, get(&s, 0));
	cr_expect(opened == 3, "the same place of another file");
	scene_fini(&s);
}

Test(tables, the_table_that_was_not_used_longest_goes_first)
{
	struct scene s;

	scene_init(&s);
	tables_put(s.t, get(&s, 0));
	tables_put(s.t, get(&s, 1));
	cr_expect(alive == 2, "exactly the limit");
	tables_put(s.t, get(&s, 0)); /* now 1 is the oldest */
	tables_put(s.t, get(&s, 2));
	cr_expect(alive == 2 && opened == 3);
	tables_put(s.t, get(&s, 0));
	cr_expect(opened == 3, "0 is there");
	tables_put(s.t, get(&s, 1));
	cr_expect(opened == 4, "1 was not");
	scene_fini(&s);
}

Test(tables, a_table_with_a_reader_stays)
{
	struct scene s;
	struct table_ref *refs[6];

	scene_init(&s);
	for (size_t i = 0; i < 6; i++)
		refs[i] = get(&s, i);
	cr_expect(alive == 6, "whatever the limit is");
	for (size_t i = 0; i < 6; i++)
		tables_put(s.t, refs[i]);
	cr_expect(alive == 2);
	scene_fini(&s);
}

Test(tables, tables_of_an_owner_are_forgotten)
{
	struct scene s;

	scene_init(&s);
	s.at[1].owner = &s.hook;
	tables_put(s.t, get(&s, 0));
	tables_put(s.t, get(&s, 1));
	tables_forget(s.t, &s);
	cr_expect(alive == 1);
	tables_put(s.t, get(&s, 1));
	cr_expect(opened == 2, "another owner's is there");
	tables_put(s.t, get(&s, 0));
	cr_expect(opened == 3);
	tables_forget(s.t, &opened);
	cr_expect(alive == 2, "who has none");
	scene_fini(&s);
}

Test(tables, a_table_that_cannot_be_read_is_not_kept)
{
	static const struct {
		const char *name;
		uint32_t len;
		uint32_t crc; /* is changed in these bits */
		int rc;       /* of the codec */
		bool sector;
		int want;
	} cases[] = {
		{ "another checksum", LEN, 1, 0, false, ERR_CORRUPT },
		{ "cut short", LEN - 1, 0, 0, false, ERR_CORRUPT },
		{ "behind the end of the file", 9 * LEN, 0, 0, false,
		  ERR_CORRUPT },
		{ "longer than any", UINT32_MAX, 0, 0, false, ERR_CORRUPT },
		{ "no table", LEN, 0, ERR_CORRUPT, false, ERR_CORRUPT },
		{ "too large for the codec", LEN, 0, ERR_TOOBIG, false,
		  ERR_CORRUPT },
		{ "a bad sector", LEN, 0, 0, true, ERR_IO },
	};
	struct scene s;

	scene_init(&s);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct table_place place = s.at[3];
		struct table_ref *ref = NULL;

		place.at.len = cases[i].len;
		place.at.crc ^= cases[i].crc;
		open_rc = cases[i].rc;
		s.hook.to = UINT64_MAX;
		s.hook.sector = cases[i].sector ? "/values" : NULL;
		cr_expect(tables_get(s.t, &place, &ref, NULL) == cases[i].want,
			  "%s", cases[i].name);
		cr_expect(!ref && !alive, "%s", cases[i].name);
	}
	s.hook.sector = NULL;
	tables_put(s.t, get(&s, 3));
	cr_expect(opened == 1);
	tables_free(NULL);
	scene_fini(&s);
}
