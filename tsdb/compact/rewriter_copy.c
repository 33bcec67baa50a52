/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/compact/rewriter_copy.h"

#include <stdio.h>

#include "tsdb/compact/rewriter_private.h"
#include "tsdb/compact/rewriter_slots.h"

/*
 * Decide, once for each values file of a block, whether it is linked. A file is
 * linked if it is large and at least half of it is still in use; the chunks of
 * other files are copied, which joins small files and frees unused space
 * (docs/decisions.md, 19).
 */
static int plan_file(struct rewriter *r, uint32_t part, uint32_t number,
		     struct file_plan **out, struct err *err)
{
	const struct block *b = r->o.parts[part].block;
	struct file_plan *plan;
	const struct meta_file *f;
	char name[META_NAME_MAX];

	if (!block_values(b, number))
		return err_set(
			err, ERR_CORRUPT,
			"%s/values/%06u is missing or could not be opened",
			b->path, number);
	*out = plan = &r->files[part][number];
	if (plan->seen)
		return 0;
	snprintf(name, sizeof(name), "values/%06u", number);
	f = meta_file(&b->meta, name);
	plan->seen = true;
	plan->link = f && f->size >= r->o.link_min && f->live >= f->size / 2;
	return plan->link ?
		       block_writer_link(r->w, b, number, &plan->number, err) :
		       0;
}

/*
 * `from` is a file of another block, and *place is the place of a dictionary
 * table in this file. Set *place to the place of the table's copy in the new
 * block. The table is copied with the first chunk that needs it.
 */
static int copy_table(struct rewriter *r, const struct file *from,
		      struct chunk_table *place, struct err *err)
{
	struct chunk_place at = { .offset = place->offset,
				  .len = place->len,
				  .crc = place->crc };
	struct bytes stored = { 0 };
	int rc;

	for (size_t i = 0; i < r->copied.count; i++) {
		const struct copied *c = &r->copied.v[i];

		if (c->from == from && c->offset == place->offset) {
			*place = c->to;
			return 0;
		}
	}
	rc = values_stored(&r->reader, from, &at, &stored, err);
	if (!rc)
		rc = block_writer_table(r->w, stored, place, err);
	if (!rc)
		*vec_add(&r->copied) = (struct copied){ .from = from,
							.offset = at.offset,
							.to = *place };
	return rc;
}

/*
 * Transcode a chunk of columns to the dictionary of the current stripe, so that
 * what both stripes have in common is stored once (docs/decisions.md, 53).
 * ERR_UNSUPPORTED: the chunk cannot be transcoded; the caller copies it with
 * its table.
 */
static int adopt_group(struct rewriter *r, struct part p, struct slot *s,
		       struct err *err)
{
	struct table_ref *table = NULL;
	struct bytes stored = { 0 };
	int rc = values_table(&r->reader, p, &s->meta, &table, err);

	if (rc)
		return rc;
	if (!table)
		return err_set(err, ERR_UNSUPPORTED, "the chunk has no table");
	rc = values_stored(&r->reader, part_values(p, &s->meta), &s->meta.place,
			   &stored, err);
	buf_reset(&r->stored);
	if (!rc) {
		rc = chunk_writer_adopt(r->chunk_writer, &s->meta, table->table,
					stored, &r->stored, err);
		/*
		 * The chunk writer borrows this table from now on, so a
		 * reference is kept. It no longer uses the previous table.
		 */
		table_unref(r->adopted);
		r->adopted = table_ref(table);
	}
	if (!rc)
		rc = block_writer_group(r->w, &s->meta, buf_bytes(&r->stored),
					s->typeset, new_chunk(r), err);
	return rc;
}

/* Copy the stored bytes of a chunk, and its table, unchanged. */
static int copy_group(struct rewriter *r, struct part p, struct slot *s,
		      struct err *err)
{
	const struct file *from = part_values(p, &s->meta);
	struct bytes stored = { 0 };
	int rc = 0;

	if (s->meta.place.table.len)
		rc = copy_table(r, from, &s->meta.place.table, err);
	if (!rc)
		rc = values_stored(&r->reader, from, &s->meta.place, &stored,
				   err);
	return rc ? rc :
		    block_writer_group(r->w, &s->meta, stored, s->typeset,
				       new_chunk(r), err);
}

int take_group(struct rewriter *r, size_t source, struct err *err)
{
	struct part p = part_of(r, source);
	uint32_t part = r->places[r->sources[source].place].part;
	/*
	 * Slot 0 is used only as memory for the metadata, and stays marked as
	 * empty.
	 */
	struct slot *s = &r->slots[0];
	struct file_plan *plan = NULL;
	int rc;

	slot_free(s);
	rc = rewriter_load_meta(r, s, source, err);
	if (!rc)
		rc = plan_file(r, part, s->meta.place.file, &plan, err);
	/*
	 * Encode the profiles one by one instead: this logs labels and time of
	 * each lost profile.
	 */
	if (may_pass(rc))
		return encode_groups(r, source, source + 1, err);
	if (rc)
		return rc;
	if (plan && plan->link) {
		s->meta.place.file = plan->number;
		block_writer_linked(r->w, &s->meta, s->typeset, new_chunk(r));
		return end_full_stripe(r, err);
	}
	rc = adopt_group(r, p, s, err);
	if (rc == ERR_UNSUPPORTED)
		rc = copy_group(r, p, s, err);
	/*
	 * Encode the profiles one by one instead: this saves the intact
	 * profiles.
	 */
	if (may_pass(rc))
		return encode_groups(r, source, source + 1, err);
	return rc ? rc : end_full_stripe(r, err);
}

/*
 * Chunks of heads belong to no stripe and are always encoded again. Chunks with
 * deleted profiles are encoded again, too, to leave out these profiles.
 */
bool may_take(const struct rewriter *r, size_t source)
{
	const struct source *s = &r->sources[source];
	const struct chunks *g = &r->groups[s->place];

	if (r->o.reencode || part_of(r, source).head)
		return false;
	for (size_t i = 0; i < g->gap_count; i++) {
		if (g->gaps[i].from <= s->group.last &&
		    g->gaps[i].to >= s->group.first)
			return false;
	}
	return true;
}
