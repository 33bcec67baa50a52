/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of dictionary tables: sharing, eviction, and tables that outlive
 * the block they were read from. The codec here only counts its open tables.
 */
#include "tsdb/chunk/tables.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "tests/check.h"
#include "tests/tempdir.h"

#define TABLE_BYTES 100 /* what an open table reports as its memory */

struct codec_table {
	uint8_t first; /* first byte of what was stored */
};

static int opened;
static int freed;

static int fake_open(struct bytes stored, struct codec_table **out,
		     struct err *err)
{
	if (stored.ptr[0] == 'x')
		return err_set(err, ERR_TOOBIG, "too large");
	*out = mem_new(struct codec_table);
	(*out)->first = stored.ptr[0];
	opened++;
	return 0;
}

static void fake_free(struct codec_table *t)
{
	freed++;
	mem_free(t);
}

static size_t fake_memory(const struct codec_table *t)
{
	(void)t;
	return TABLE_BYTES;
}

static const struct codec fake = { .name = "fake",
				   .table_open = fake_open,
				   .table_free = fake_free,
				   .table_memory = fake_memory };

/* A file with the tables "a", "b", "c" and "x", and a cache for two of them. */
struct bed {
	struct tempdir dir;
	struct file *file;
	struct tables *tables;
	struct table_place place[4];
};

static char owner;

static void bed_setup(struct bed *b)
{
	static const char stored[] = "abcx";
	char *path;

	opened = 0;
	freed = 0;
	b->dir = tempdir_make();
	path = mem_printf("%s/values", b->dir.path);
	cr_assert(!file_open(NULL, path, FILE_CREATE, &b->file, NULL));
	mem_free(path);
	cr_assert(!file_write(b->file, 0, bytes_of(str_of("abcx")), NULL));
	b->tables = tables_new(&fake, (size_t)2 * TABLE_BYTES);
	for (uint32_t i = 0; i < ARRAY_SIZE(b->place); i++)
		b->place[i] = (struct table_place){
			.owner = &owner,
			.number = 1,
			.file = b->file,
			.at = { .offset = i,
				.len = 1,
				.crc = crc32c_extend(
					0,
					(struct bytes){
						.ptr = (const uint8_t
								*)&stored[i],
						.len = 1 }) },
		};
}

static void bed_teardown(struct bed *b)
{
	tables_free(b->tables);
	file_close(b->file);
	tempdir_fini(&b->dir);
	cr_expect(freed == opened, "%d of %d tables were freed", freed, opened);
}

static struct table_ref *bed_get(struct bed *b, size_t i)
{
	struct table_ref *ref = NULL;
	struct err err;

	cr_assert(!tables_get(b->tables, &b->place[i], &ref, &err), "%s",
		  err.msg);
	cr_expect(ref->table->first == "abcx"[i]);
	return ref;
}

Test(tables, a_table_is_opened_once_for_all_its_users)
{
	struct bed b;
	struct table_ref *one;
	struct table_ref *two;

	bed_setup(&b);
	one = bed_get(&b, 0);
	two = bed_get(&b, 0);
	cr_assert(one == two);
	cr_expect(opened == 1);
	table_unref(one);
	table_unref(two);
	cr_expect(freed == 0, "it stays in the cache without users");
	table_unref(bed_get(&b, 0));
	cr_expect(opened == 1);
	bed_teardown(&b);
}

Test(tables, the_least_recently_used_table_without_users_is_evicted)
{
	struct bed b;
	struct table_ref *held;

	bed_setup(&b);
	held = bed_get(&b, 0);
	table_unref(bed_get(&b, 1));
	table_unref(bed_get(&b, 2));
	cr_assert(opened == 3, "b made room for c");
	cr_expect(freed == 1, "b made room for c");
	table_unref(bed_get(&b, 0));
	cr_expect(opened == 3, "a was in use, and stays");
	table_unref(bed_get(&b, 1));
	cr_expect(opened == 4);
	table_unref(held);
	bed_teardown(&b);
}

Test(tables, tables_in_use_are_kept_beyond_the_limit)
{
	struct bed b;
	struct table_ref *held[3];

	bed_setup(&b);
	for (size_t i = 0; i < 3; i++)
		held[i] = bed_get(&b, i);
	cr_expect(freed == 0);
	table_unref(held[0]);
	cr_expect(freed == 1);
	table_unref(held[1]);
	table_unref(held[2]);
	cr_expect(freed == 1, "two fit in the limit");
	bed_teardown(&b);
}

Test(tables, a_table_outlives_its_owner_while_it_has_a_reference)
{
	struct bed b;
	struct table_ref *held;
	struct table_ref *again;

	bed_setup(&b);
	held = bed_get(&b, 0);
	again = table_ref(held);
	table_unref(bed_get(&b, 1));
	tables_forget(b.tables, &owner);
	cr_expect(freed == 1, "the table without users is gone");
	cr_expect(held->table->first == 'a');
	table_unref(held);
	cr_assert(freed == 1);
	cr_expect(again->table->first == 'a');
	/*
	 * A new owner may be at the address of the old one, so the forgotten
	 * table must not be found.
	 */
	table_unref(bed_get(&b, 0));
	cr_expect(opened == 3, "a forgotten table is not found again");
	table_unref(again);
	cr_expect(freed == 2);
	bed_teardown(&b);
}

Test(tables, damaged_tables_are_refused)
{
	struct bed b;
	struct table_ref *ref = NULL;
	struct err err;

	bed_setup(&b);
	b.place[0].at.crc ^= 1;
	cr_expect(tables_get(b.tables, &b.place[0], &ref, &err) == ERR_CORRUPT);
	cr_expect(strstr(err.msg, "checksum"));
	cr_expect(tables_get(b.tables, &b.place[3], &ref, &err) == ERR_CORRUPT,
		  "larger than any writer makes");
	b.place[1].at.offset = 1000;
	cr_expect(tables_get(b.tables, &b.place[1], &ref, &err) != 0);
	b.place[2].at.len = UINT32_MAX;
	cr_expect(tables_get(b.tables, &b.place[2], &ref, &err) == ERR_CORRUPT);
	cr_assert(opened == 0);
	cr_expect(!ref);
	table_unref(NULL);
	cr_expect(!table_ref(NULL));
	bed_teardown(&b);
}
