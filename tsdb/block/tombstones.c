/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/tombstones.h"

#include <stdlib.h>

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "base/vec.h"

#define MAGIC   0x0130BA30u
#define VERSION 1

/* Length in bytes of the magic number and the version. */
#define FRONT 5

struct tombstones *tombstones_new(void)
{
	struct tombstones *t = mem_new(struct tombstones);

	atomic_init(&t->refs, 1);
	return t;
}

struct tombstones *tombstones_ref(struct tombstones *t)
{
	atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

void tombstones_unref(struct tombstones *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) != 1)
		return;
	mem_free(t->v);
	mem_free(t);
}

struct tombstones *tombstones_copy(const struct tombstones *t)
{
	struct tombstones *copy = tombstones_new();

	copy->v = mem_dup(t->v, t->count * sizeof(*t->v));
	copy->count = t->count;
	copy->cap = t->count;
	return copy;
}

void tombstones_add(struct tombstones *t, uint32_t ref, int64_t from,
		    int64_t to)
{
	t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
	t->v[t->count++] =
		(struct tombstone){ .ref = ref, .from = from, .to = to };
}

/* Order for qsort: by series, then by start of the interval. */
static int tombstones_by_place(const void *a, const void *b)
{
	const struct tombstone *x = a;
	const struct tombstone *y = b;

	if (x->ref != y->ref)
		return x->ref < y->ref ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

void tombstones_sort(struct tombstones *t)
{
	size_t kept = 0;

	if (t->count)
		qsort(t->v, t->count, sizeof(*t->v), tombstones_by_place);
	for (size_t i = 0; i < t->count; i++) {
		struct tombstone *last = kept ? &t->v[kept - 1] : NULL;

		/*
		 * Adjacent intervals are joined, too. last->to + 1 could
		 * overflow. `from` - 1 cannot, because it is computed only if
		 * `from` is greater than last->to.
		 */
		if (last && last->ref == t->v[i].ref &&
		    (t->v[i].from <= last->to ||
		     t->v[i].from - 1 == last->to)) {
			if (t->v[i].to > last->to)
				last->to = t->v[i].to;
		} else {
			t->v[kept++] = t->v[i];
		}
	}
	t->count = kept;
}

/*
 * Index of the first tombstone of a series, by binary search; if there is none,
 * the index where it would be inserted.
 */
static size_t first_of(const struct tombstones *t, uint32_t ref)
{
	return vec_partition_point(t, e, e->ref < ref);
}

void tombstones_gaps(const struct tombstones *t, uint32_t ref,
		     struct chunks *out)
{
	for (size_t i = first_of(t, ref); i < t->count && t->v[i].ref == ref;
	     i++)
		chunks_add_tombstone(
			out, &(struct tombstone_interval){ .from = t->v[i].from,
							   .to = t->v[i].to,
							   .lsn = UINT64_MAX,
							   .at = UINT64_MAX });
}

/* The list is sorted, so a series begins where the reference changes. */
size_t tombstones_series(const struct tombstones *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->count; i++)
		n += !i || t->v[i].ref != t->v[i - 1].ref;
	return n;
}

/*
 * As in Prometheus, the checksum covers the tombstones, but not the magic
 * number and the version.
 */
void tombstones_encode(const struct tombstones *t, struct buf *out)
{
	size_t start = out->len + FRONT;
	struct bytes covered;

	enc_be32(out, MAGIC);
	buf_byte(out, VERSION);
	for (size_t i = 0; i < t->count; i++) {
		enc_uvarint(out, t->v[i].ref);
		enc_svarint(out, t->v[i].from);
		enc_svarint(out, t->v[i].to);
	}
	covered = (struct bytes){ .ptr = out->ptr + start,
				  .len = out->len - start };
	enc_be32(out, crc32c_extend(0, covered));
}

int tombstones_decode(struct bytes file, struct tombstones **out,
		      struct err *err)
{
	struct dec d = dec_init(file);
	struct tombstones *t;
	struct bytes covered;
	uint32_t magic = dec_be32(&d);
	uint8_t version = dec_u8(&d);

	if (d.bad || dec_left(&d) < 4)
		return err_set(err, ERR_CORRUPT,
			       "the file of tombstones is truncated");
	if (magic != MAGIC)
		return err_set(
			err, ERR_CORRUPT,
			"the file of tombstones is damaged: wrong magic number");
	/*
	 * A newer version of everprof would raise the format in meta.json, and
	 * block_open() refuses such a block before it reads the tombstones.
	 * Another version here is therefore damage.
	 */
	if (version != VERSION)
		return err_set(
			err, ERR_CORRUPT,
			"the tombstones are damaged: they have the unknown version %u",
			version);
	covered = dec_bytes(&d, dec_left(&d) - 4);
	if (dec_be32(&d) != crc32c_extend(0, covered))
		return err_set(err, ERR_CORRUPT,
			       "checksum mismatch in the tombstones");
	t = tombstones_new();
	d = dec_init(covered);
	while (dec_left(&d)) {
		uint32_t ref = (uint32_t)dec_count(&d, UINT32_MAX);
		int64_t from = dec_svarint(&d);

		tombstones_add(t, ref, from, dec_svarint(&d));
	}
	if (d.bad) {
		tombstones_unref(t);
		return err_set(err, ERR_CORRUPT, "the tombstones are damaged");
	}
	/* Tombstones from other writers may be unsorted. */
	tombstones_sort(t);
	*out = t;
	return 0;
}
