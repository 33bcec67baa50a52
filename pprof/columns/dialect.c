/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/dialect.h"

#include "pprof/columns/encoder_private.h"
#include "pprof/dictionary/layout.h"
#include "pprof/rows/group_decode.h"

/*
 * A patch (the bytes by which a profile differs from its replay) may have at
 * most one eighth of the profile's size. A low compression level is enough:
 * zstd gets the replay as prefix, so bytes that equal the replay take almost no
 * space.
 */
#define PATCH_WORTH 8
#define PATCH_LEVEL 1

/* Difference of two lengths. */
static size_t dialect_distance_between(size_t a, size_t b)
{
	return a > b ? a - b : b - a;
}

/*
 * Write the profile again from the columns, in the dialect e->dialect, into
 * e->replayed. ERR_UNSUPPORTED: a field of message Profile has an unexpected
 * type, or there are too many fields for a shape (layout.h).
 */
static int write_as(struct codec_encoder *e, struct bytes raw, struct row *row,
		    struct err *err)
{
	int rc = shape_read(raw, e->dialect, e->intern, &row->shape, err);

	buf_reset(&e->replayed);
	return rc ? rc :
		    replay_row(e->replay, &e->table.d, row, 2 * raw.len + MIB,
			       &e->replayed, err);
}

/*
 * Make a patch that turns e->replayed into the profile, and append it to the
 * group. The group is refused if the patch is too large.
 */
static int add_patch(struct codec_encoder *e, struct bytes raw, uint32_t *len,
		     struct err *err)
{
	size_t at = e->group.patches.len;

	zstd_compress_after(e->zstd, PATCH_LEVEL, buf_bytes(&e->replayed), raw,
			    &e->group.patches);
	*len = (uint32_t)(e->group.patches.len - at);
	e->added.patched++;
	e->added.patch_bytes += *len;
	e->patches = (size_t)*len * PATCH_WORTH <= raw.len;
	return e->patches ?
		       0 :
		       encoder_refuse(
			       err,
			       "the encoding differs too much from all known dialects");
}

/*
 * Returns 0 if replaying in e->dialect gives the profile's bytes, ERR_NOTFOUND
 * if it gives other bytes. Dialects are tested by writing, because a profile
 * does not name its dialect (docs/decisions.md, 49).
 */
static int try_dialect(struct codec_encoder *e, struct bytes raw,
		       struct row *row, struct err *err)
{
	int rc = write_as(e, raw, row, err);

	if (rc || !bytes_eq(buf_bytes(&e->replayed), raw))
		return rc ? rc : ERR_NOTFOUND;
	e->added.exact[e->dialect]++;
	e->patches = false;
	return 0;
}

/*
 * Try all dialects, beginning with the dialect of the last profile. If none
 * gives the profile's bytes, choose the dialect whose replay is closest to the
 * profile in length, and replay in it again, so that a patch can be made.
 * e->dialect is the dialect found or chosen.
 */
static int try_all(struct codec_encoder *e, struct bytes raw, struct row *row,
		   struct err *err)
{
	struct dict_mark mark = dict_mark(&e->table.d);
	enum dialect best = e->dialect;
	size_t least = SIZE_MAX;

	for (int i = 0; i < DIALECTS; i++) {
		int rc = try_dialect(e, raw, row, err);
		size_t off = dialect_distance_between(e->replayed.len, raw.len);

		if (!rc)
			return 0;
		if (rc == ERR_NOTFOUND && off < least) {
			least = off;
			best = e->dialect;
		}
		/*
		 * The dialect does not fit: remove the shape that try_dialect()
		 * added to the table for it.
		 */
		intern_rollback_shapes(e->intern, &mark);
		e->dialect = (e->dialect + 1) % DIALECTS;
	}
	e->dialect = best;
	return try_dialect(e, raw, row, err);
}

/*
 * If the last profile needed a patch, only the dialect of that profile is
 * tried, because this profile most likely has the same writer.
 */
int encoder_find_dialect(struct codec_encoder *e, struct bytes raw,
			 struct row *row, uint32_t *patch, struct err *err)
{
	int rc = e->patches ? try_dialect(e, raw, row, err) :
			      try_all(e, raw, row, err);

	*patch = 0;
	if (rc == ERR_NOTFOUND)
		return add_patch(e, raw, patch, err);
	return rc ? encoder_refuse(
			    err,
			    "the layout of the top-level fields is unknown") :
		    0;
}
