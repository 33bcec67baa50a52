/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/interner.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "base/table.h"

/* A slot for one label set. Free slots form a list. */
struct interned {
	struct labels *labels; /* the label set; NULL: a free slot */
	uint32_t users;
	uint32_t next_free;
};

struct interner {
	struct mutex mu;
	struct table index;
	struct interned *v;
	size_t count;
	size_t cap;
	/* First free slot, linked by next_free; TABLE_NONE: none. */
	uint32_t free;
};

struct interner *interner_new(void)
{
	struct interner *in = mem_new(struct interner);

	mutex_init(&in->mu);
	in->free = TABLE_NONE;
	return in;
}

/* Free the label sets themselves, so none may be in use any more. */
void interner_free(struct interner *in)
{
	if (!in)
		return;
	for (size_t i = 0; i < in->count; i++)
		labels_unref(in->v[i].labels);
	mem_free(in->v);
	table_fini(&in->index);
	mutex_destroy(&in->mu);
	mem_free(in);
}

/* Equality callback of the hash table `index`. */
static bool interner_is_same(const void *ctx, uint32_t number, const void *key)
{
	const struct interner *in = ctx;

	return bytes_eq(labels_bytes(in->v[number].labels), labels_bytes(key));
}

/*
 * Number of a free slot, or of a new one if none is free. The hash table refers
 * to slots by number, so slots keep their numbers, and free slots are reused.
 */
static uint32_t place_locked(struct interner *in) REQUIRES(in->mu)
{
	uint32_t n = in->free;

	if (n != TABLE_NONE) {
		in->free = in->v[n].next_free;
		return n;
	}
	in->v = mem_grow(in->v, in->count, &in->cap, sizeof(*in->v));
	return (uint32_t)in->count++;
}

/*
 * A label set that is new is not copied: the interner takes a reference to it.
 */
struct labels *interner_get(struct interner *in, struct labels *ls)
{
	struct labels *found;
	uint32_t n;

	mutex_lock(&in->mu);
	n = table_find(&in->index, ls->hash, interner_is_same, in, ls);
	if (n == TABLE_NONE) {
		n = place_locked(in);
		in->v[n] = (struct interned){ .labels = labels_ref(ls) };
		table_add(&in->index, ls->hash, n);
	}
	in->v[n].users++;
	found = in->v[n].labels;
	mutex_unlock(&in->mu);
	return found;
}

void interner_put(struct interner *in, struct labels *ls)
{
	uint32_t n;

	mutex_lock(&in->mu);
	n = table_find(&in->index, ls->hash, interner_is_same, in, ls);
	/* The last user is gone: free the slot and the set. */
	if (n != TABLE_NONE && !--in->v[n].users) {
		table_remove(&in->index, ls->hash, n);
		labels_unref(in->v[n].labels);
		in->v[n] = (struct interned){ .next_free = in->free };
		in->free = n;
	}
	mutex_unlock(&in->mu);
}

size_t interner_count(struct interner *in)
{
	size_t count;

	mutex_lock(&in->mu);
	count = in->index.count;
	mutex_unlock(&in->mu);
	return count;
}
