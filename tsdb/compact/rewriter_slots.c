/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/rewriter_slots.h"

#include "tsdb/compact/rewriter_private.h"

/*
 * The number of bytes allocated for the values of all slots, whether the slots
 * are in use or not.
 */
static size_t held_bytes(const struct rewriter *r)
{
	size_t sum = 0;

	for (size_t i = 0; i < SLOTS; i++)
		sum += r->slots[i].values.bytes.cap;
	return sum;
}

void slot_free(struct slot *s)
{
	buf_fini(&s->values.bytes);
	s->source = NO_SOURCE;
	s->used = 0;
}

/*
 * Return the least recently used slot. If the slots hold too much memory, all
 * slots are emptied first. This simple way to keep the bound is enough, because
 * overlapping chunks of that size are rare.
 */
static struct slot *oldest_slot(struct rewriter *r)
{
	struct slot *oldest = &r->slots[0];

	for (size_t i = 1; i < SLOTS; i++) {
		if (r->slots[i].used < oldest->used)
			oldest = &r->slots[i];
	}
	if (held_bytes(r) > SLOT_BYTES) {
		for (size_t i = 0; i < SLOTS; i++)
			slot_free(&r->slots[i]);
	}
	oldest->source = NO_SOURCE;
	return oldest;
}

void slots_reset(struct rewriter *r)
{
	r->slots[0].source = NO_SOURCE;
	r->slots[0].used = 0;
	for (size_t i = 1; i < SLOTS; i++)
		slot_free(&r->slots[i]);
}

bool may_pass(int rc)
{
	return rc == ERR_IO || rc == ERR_CORRUPT;
}

bool is_loss(const struct rewriter *r, int rc)
{
	return rc == ERR_CORRUPT || (rc == ERR_IO && r->o.salvage);
}

/*
 * Decode the values of a chunk, with one retry because a read error may be
 * transient.
 */
static int load_values(struct rewriter *r, struct slot *s, size_t source)
{
	struct part p = part_of(r, source);
	int rc = values_all(&r->reader, p, &s->meta, &s->values, &s->why);

	return may_pass(rc) ? values_all(&r->reader, p, &s->meta, &s->values,
					 &s->why) :
			      rc;
}

int rewriter_load_meta(struct rewriter *r, struct slot *s, size_t source,
		       struct err *err)
{
	struct chunk_source from = part_source(part_of(r, source));
	const struct chunk *g = &r->sources[source].group;
	int rc = chunk_read_meta(&from, g, &s->meta, &s->typeset, err);

	return may_pass(rc) ?
		       chunk_read_meta(&from, g, &s->meta, &s->typeset, err) :
		       rc;
}

int slot_of(struct rewriter *r, size_t source, struct slot **out,
	    struct err *err)
{
	struct slot *s = NULL;
	int rc;

	for (size_t i = 0; i < SLOTS; i++) {
		if (r->slots[i].source == source)
			s = &r->slots[i];
	}
	if (!s) {
		s = oldest_slot(r);
		memset(s->values.ok, 0, sizeof(s->values.ok));
		rc = rewriter_load_meta(r, s, source, &s->why);
		if (!rc)
			rc = load_values(r, s, source);
		/*
		 * If the failed read counts as a loss, values.ok is false for
		 * all profiles of the slot, and the caller reports each of
		 * these profiles.
		 */
		if (rc && !is_loss(r, rc))
			return err_set(err, rc, "%s", s->why.msg);
		s->source = source;
	}
	s->used = ++r->tick;
	*out = s;
	return 0;
}
