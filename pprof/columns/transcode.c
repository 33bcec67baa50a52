/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/transcode.h"

#include "pprof/columns/encoder_private.h"
#include "pprof/dictionary/layout.h"
#include "pprof/rows/group_decode.h"
#include "pprof/rows/group_encode.h"

/*
 * Maximum memory of the stripe's dictionary, in bytes, as in columns_encode().
 */
#define DICT_MAX ((size_t)16 * MIB)

/* Must also be called before the interner is used for anything but adopting. */
void columns_adopt_end(struct codec_encoder *e)
{
	remap_free(e->remap);
	e->remap = NULL;
	e->remapped = NULL;
}

/*
 * Make e->remap translate from the table `from`. The translation is kept for
 * the next group, which mostly has the same table.
 */
static int use_remap(struct codec_encoder *e, const struct codec_table *from,
		     struct err *err)
{
	if (e->remap && e->remapped == from)
		return 0;
	columns_adopt_end(e);
	e->remapped = from;
	return remap_new(&from->d, e->intern, &e->remap, err);
}

/*
 * Decode the group to rows, translate their numbers and encode them again.
 * Patches (the bytes by which profiles differ from their replay) are copied
 * unchanged, because a replay does not depend on dictionary numbers.
 */
static int transcode_adopt(struct codec_encoder *e,
			   const struct codec_group *group, struct buf *out,
			   struct err *err)
{
	const struct colgroup_request q = { .stored = group->stored,
					    .lens = group->lens,
					    .count = group->count,
					    .end = group->count,
					    .patches = true };
	struct dict_mark mark = dict_mark(&e->table.d);
	int rc;

	if (!group->table)
		return err_set(err, ERR_CORRUPT,
			       "the table of its stripe is missing");
	rc = colgroup_decode(e->coder, &group->table->d, &q, &e->group, err);
	if (rc == ERR_TOOBIG)
		rc = err_set(
			err, ERR_CORRUPT,
			"the chunk decodes to more bytes than its profiles had");
	if (!rc)
		rc = use_remap(e, group->table, err);
	if (rc)
		return rc;
	remap_group(e->remap, &e->group);
	if (encoder_dict_size(e) > DICT_MAX) {
		intern_rollback(e->intern, &mark);
		return encoder_refuse(err, "the table would become too large");
	}
	e->group.top = (uint32_t)mark.keys;
	colgroup_encode(e->coder, &e->table.d, &e->group, e->level, out);
	e->is_used = true;
	return 0;
}

int columns_adopt(struct codec_encoder *e, const struct codec_group *group,
		  struct buf *out, struct err *err)
{
	int rc = transcode_adopt(e, group, out, err);

	/*
	 * After an error, elements have been removed to which the translation
	 * may still refer.
	 */
	if (rc)
		columns_adopt_end(e);
	encoder_trim(e);
	return rc;
}
