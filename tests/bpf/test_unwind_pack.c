/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs of unwind tables: the search that runs in the kernel finds in a pack the
 * rules that the table has.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "bpf/kernel/walk.h"
#include "bpf/unwind/unwind_file.h"
#include "bpf/unwind/unwind_pack.h"
#include "tests/check.h"

TestSuite(unwind_pack, .timeout = 120);

static struct unwind_pack pack;
static struct buf packed;

WALK_INLINE long walk_read(void *to UNUSED, __u32 size UNUSED,
			   __u64 from UNUSED)
{
	return -1;
}

WALK_INLINE struct sampler_mapping *walk_mapping(__u32 number UNUSED)
{
	return NULL;
}

WALK_INLINE struct unwind_row *walk_entry(__u32 number)
{
	return number < pack.count ?
		       (struct unwind_row *)(uintptr_t)&pack.entries[number] :
		       NULL;
}

static void pack_make(const struct unwind_row *rows, size_t count)
{
	buf_fini(&packed);
	pack.pages = unwind_pack_add(rows, count, &packed);
	pack.entries = (const void *)packed.ptr;
	pack.count = (uint32_t)(packed.len / sizeof(*rows));
	cr_assert(unwind_pack_check(&pack));
}

/* Whether a pack has the rules of a row at an address. */
static bool pack_has(uint32_t pc, const struct unwind_row *row)
{
	struct sampler_mapping m = { .pages = pack.pages };
	const struct unwind_row *found = walk_row_of(&m, pc);

	if (!found)
		return (row->kind & UNWIND_CFA_MASK) == UNWIND_NO_CODE;
	return unwind_row_same(found, row);
}

/* Look for the first and the last address of each row. */
static void pack_compare(const struct unwind_table *t)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct unwind_row *row = &t->rows.v[i];
		uint32_t last = i + 1 < t->rows.count ? row[1].pc - 1 :
							UINT32_MAX;

		cr_assert(pack_has(row->pc, row), "row %zu at %x", i, row->pc);
		cr_assert(pack_has(last, row), "row %zu at %x", i, row->pc);
	}
}

Test(unwind_pack, has_the_rules_of_the_table)
{
	static const char *const files[] = { "/proc/self/exe", "/bin/sh",
					     "/bin/bash", "/usr/bin/python3" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct unwind_table t;
		struct elf_file *f;

		if (elf_file_open(open(files[i], O_RDONLY | O_CLOEXEC), &f,
				  NULL))
			continue;
		cr_assert(!unwind_file_read(f, &t, NULL));
		cr_assert(t.rows.count > 10);
		pack_make(t.rows.v, t.rows.count);
		printf("%s: %zu rows, %u entries, %u pages\n", files[i],
		       t.rows.count, pack.count, pack.pages);
		pack_compare(&t);
		unwind_table_fini(&t);
		elf_file_close(f);
	}
	buf_fini(&packed);
}

/* Rows at random distances, with few rules, so that patterns repeat. */
Test(unwind_pack, tables_at_random)
{
	srand48(1);
	for (int round = 0; round < 300; round++) {
		struct unwind_table t = { 0 };
		uint32_t pc = (uint32_t)lrand48() % 2;
		size_t count = (size_t)lrand48() % 400;

		for (size_t i = 0; i < count; i++) {
			struct unwind_row *row = vec_add(&t.rows);

			*row = (struct unwind_row){
				.pc = pc,
				.kind = (uint8_t)(lrand48() % 3),
				.cfa = (int16_t)(lrand48() % 2),
			};
			pc += 1 + (uint32_t)lrand48() % (round % 9 + 1);
		}
		pack_make(t.rows.v, count);
		pack_compare(&t);
		unwind_table_fini(&t);
	}
	buf_fini(&packed);
}

Test(unwind_pack, equal_functions_take_a_run_each)
{
	struct unwind_row rows[300];

	for (uint32_t i = 0; i < 300; i++)
		rows[i] = (struct unwind_row){ .pc = i / 3 * 0x100 + i % 3,
					       .kind = UNWIND_RSP,
					       .cfa = (int16_t)(i % 3) };
	pack_make(rows, 300);
	cr_expect(pack.count == 1 + pack.pages + 100 + 3);
	cr_assert(pack.pages > 5);
	cr_expect(pack.pages < 15);
	/* A long run of rows is several runs. */
	for (uint32_t i = 0; i < 300; i++)
		rows[i].pc = i;
	pack_make(rows, 300);
	cr_expect(pack.entries[pack.pages].steps - pack.pages - 1 ==
		  300 / UNWIND_STEPS_MAX + 1);
	pack_make(rows, 0);
	cr_assert(!pack.pages);
	cr_expect(!pack.count);
	buf_fini(&packed);
}

/* Few rows, as far from each other as addresses can be. */
Test(unwind_pack, rows_at_both_ends_of_all_addresses)
{
	struct unwind_table t = { 0 };

	*vec_add(&t.rows) = (struct unwind_row){ .kind = UNWIND_RSP, .cfa = 1 };
	*vec_add(&t.rows) = (struct unwind_row){ .pc = UINT32_MAX,
						 .kind = UNWIND_RSP,
						 .cfa = 2 };
	pack_make(t.rows.v, t.rows.count);
	pack_compare(&t);
	unwind_table_fini(&t);
	buf_fini(&packed);
}

/* The helper that packs tables has read the files of strangers. */
Test(unwind_pack, bad_packs_are_refused)
{
	const struct unwind_row good[] = {
		{ .pc = 0x10, .steps = 4 },
		{ .pc = 3, .steps = 4 }, /* pages */
		{ .pc = 4, .steps = 5 },
		{ .pc = 0x10, .steps = 5 }, /* runs */
		{ .pc = 0x20, .steps = 5 },
		{ .pc = 1, .cfa = 2 }, /* steps */
		{ .pc = 0, .cfa = 1 },
	};
	const struct {
		size_t at;
		struct unwind_row entry;
	} table[] = {
		{ 0, { .pc = 0x11, .steps = 4 } }, /* not the first run's */
		{ 0, { .pc = 0x10, .steps = 32 } },
		{ 1, { .pc = 2, .steps = 4 } }, /* a page is no run */
		{ 1, { .pc = 3, .steps = 2 } },
		{ 2, { .pc = 3, .steps = 5 } },    /* they overlap */
		{ 2, { .pc = 4, .steps = 7 } },    /* after the last entry */
		{ 4, { .pc = 0x10, .steps = 5 } }, /* not sorted */
		{ 3, { .pc = 0x10, .steps = 4 } }, /* a run is no step */
		{ 3, { .pc = 0x10, .steps = 7 } }, /* after the last entry */
		{ 4, { .pc = 0x20, .steps = UINT32_MAX } },
		{ 6, { .pc = 1 } }, /* there is no end */
	};
	struct unwind_row bad[ARRAY_SIZE(good)];
	struct unwind_pack p = { good, ARRAY_SIZE(good), 2 };

	cr_expect(unwind_pack_check(&p));
	for (uint32_t pages = 0; pages < 10; pages++) {
		p.pages = pages;
		cr_expect(unwind_pack_check(&p) == (pages == 2));
	}
	p = (struct unwind_pack){ bad, ARRAY_SIZE(bad), 2 };
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		memcpy(bad, good, sizeof(bad));
		bad[table[i].at] = table[i].entry;
		cr_expect(!unwind_pack_check(&p), "entry %zu", i);
	}
	p = (struct unwind_pack){ good, 0, 1 };
	cr_expect(!unwind_pack_check(&p));
}
