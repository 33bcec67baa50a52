/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/columns.h"

#include "pprof/columns/encoder.h"
#include "pprof/columns/rows.h"
#include "pprof/dictionary/dict_decode.h"
#include "pprof/dictionary/dict_streams.h"
#include "pprof/dictionary/section.h"
#include "pprof/rows/group_decode.h"

/*
 * A buffer with more bytes is freed after use, so that no decoder keeps the
 * memory of one large profile.
 */
#define BUFFER_KEEP ((size_t)4 * MIB)

/* Tables: the dictionaries of stripes, read from storage. */

/* Free a table that table_open() returned. `t` may be NULL. */
static void table_free(struct codec_table *t)
{
	if (!t)
		return;
	dict_fini(&t->d);
	mem_free(t);
}

/* Decode a stored dictionary. Decoding validates all of its numbers. */
static int table_open(struct bytes stored, struct codec_table **out,
		      struct err *err)
{
	struct codec_table *t = mem_new(struct codec_table);
	int rc;

	dict_init(&t->d);
	rc = dict_decode(stored, &t->d, err);
	if (rc)
		table_free(t);
	else
		*out = t;
	return rc;
}

/* Memory of a table in bytes, for the cache of tables in storage. */
static size_t memory_of(const struct codec_table *t)
{
	return dict_memory(&t->d);
}

/* Decoding of groups. */

/* A decoder: workspace that is reused from group to group. */
struct codec_decoder {
	struct colgroup_coder *coder;
	struct colgroup group;
	struct replay *replay;
	struct zstd *zstd;
	/*
	 * Replay of a profile (its bytes as written again from the columns). A
	 * patch turns the replay into the original bytes.
	 */
	struct buf replayed;
	/* The result of columns_open_rows(). */
	struct codec_rows rows;
};

/* Create a decoder. */
static struct codec_decoder *columns_decoder_new(void)
{
	struct codec_decoder *d = mem_new(struct codec_decoder);

	d->coder = colgroup_coder_new();
	d->replay = replay_new();
	d->zstd = zstd_new();
	return d;
}

/* Free a decoder. `d` may be NULL. */
static void columns_decoder_free(struct codec_decoder *d)
{
	if (!d)
		return;
	colgroup_coder_free(d->coder);
	colgroup_fini(&d->group);
	replay_free(d->replay);
	zstd_free(d->zstd);
	buf_fini(&d->replayed);
	mem_free(d);
}

/* Memory of a decoder, for the budget of queries. */
static size_t columns_decoder_memory(const struct codec_decoder *d)
{
	return sizeof(*d) + colgroup_coder_memory(d->coder) +
	       colgroup_memory(&d->group) + replay_memory(d->replay) +
	       d->replayed.cap;
}

/*
 * Restore a profile that has a patch. First the profile is written again from
 * the columns; the result is its replay. The patch was compressed by zstd with
 * the replay as prefix, so it is decompressed with the replay as prefix, too.
 * The maximum length of a replay is the same as in the encoder.
 */
static int columns_apply_patch(struct codec_decoder *d,
			       const struct dictionary *dict, size_t i,
			       uint32_t len, struct buf *out, struct err *err)
{
	int rc;

	buf_reset(&d->replayed);
	rc = replay_row(d->replay, dict, &d->group.rows[i],
			2 * (size_t)len + MIB, &d->replayed, err);
	if (!rc)
		rc = zstd_decompress_after(d->zstd, buf_bytes(&d->replayed),
					   colgroup_patch(&d->group, i), len,
					   out, err);
	if (d->replayed.cap > BUFFER_KEEP)
		buf_fini(&d->replayed);
	return rc;
}

/*
 * Append one profile to `out`. Its length is checked here, against the chunk
 * metadata; storage checks its hash.
 */
static int columns_write_row(struct codec_decoder *d,
			     const struct dictionary *dict, size_t i,
			     uint32_t len, struct buf *out, struct err *err)
{
	size_t at = out->len;
	int rc;

	if (d->group.patch_lens[i])
		return columns_apply_patch(d, dict, i, len, out, err);
	rc = replay_row(d->replay, dict, &d->group.rows[i], len, out, err);
	if (rc == ERR_TOOBIG || (!rc && out->len - at != len))
		rc = err_set(
			err, ERR_CORRUPT,
			"a profile does not decode to its original length");
	return rc;
}

/*
 * Decode profiles first to first + n - 1 of a group and append them to `out`.
 * ERR_TOOBIG becomes ERR_CORRUPT, since only damaged groups exceed limits.
 */
static int columns_decode(struct codec_decoder *d,
			  const struct codec_group *group, size_t first,
			  size_t n, struct buf *out, struct err *err)
{
	struct colgroup_request q = { .stored = group->stored,
				      .lens = group->lens,
				      .count = group->count,
				      .begin = first,
				      .end = first + n,
				      .patches = true };
	int rc;

	if (!group->table)
		return err_set(err, ERR_CORRUPT,
			       "the chunk's table of shared data is missing");
	if (first > group->count || n > group->count - first)
		return err_set(err, ERR_CORRUPT,
			       "the chunk has no profile with the number %zu",
			       first + n);
	rc = colgroup_decode(d->coder, &group->table->d, &q, &d->group, err);
	for (size_t i = first; i < first + n && !rc; i++)
		rc = columns_write_row(d, &group->table->d, i, group->lens[i],
				       out, err);
	if (colgroup_memory(&d->group) > BUFFER_KEEP)
		colgroup_fini(&d->group);
	return rc == ERR_TOOBIG ?
		       err_set(err, ERR_CORRUPT,
			       "the chunk decodes to more bytes than its profiles had") :
		       rc;
}

/*
 * Decode a group to rows (one per profile), for queries that add up or search
 * rows without rebuilding the profiles. The rows are valid until the next call.
 */
static int columns_open_rows(struct codec_decoder *d,
			     const struct codec_group *group, const bool *types,
			     const struct codec_rows **out, struct err *err)
{
	struct colgroup_request q = { .stored = group->stored,
				      .lens = group->lens,
				      .count = group->count,
				      .end = group->count,
				      .types = types };
	int rc;

	if (!group->table)
		return err_set(err, ERR_CORRUPT,
			       "the chunk's table of shared data is missing");
	rc = colgroup_decode(d->coder, &group->table->d, &q, &d->group, err);
	d->rows = (struct codec_rows){ &group->table->d, &d->group };
	*out = &d->rows;
	return rc == ERR_TOOBIG ?
		       err_set(err, ERR_CORRUPT,
			       "the chunk decodes to more bytes than its profiles had") :
		       rc;
}

/* Listing of sections. */

/*
 * State of listing the sections of a stored table or group, with their sizes,
 * for statistics. `fn` is called for each section.
 */
struct teller {
	struct dec in;
	void (*fn)(void *ctx, const char *section, size_t bytes);
	void *ctx;
};

/*
 * Report one section. `before` is the number of bytes just before the section
 * that are counted as part of it.
 */
static void tell_section(struct teller *t, const char *name, size_t before)
{
	const uint8_t *from = t->in.pos;

	section_skip(&t->in);
	if (!t->in.bad)
		t->fn(t->ctx, name, before + (size_t)(t->in.pos - from));
}

/* Report the sections of a table. */
static void tell_table(struct teller *t)
{
	for (enum dict_stream s = 0; s < DICT_STREAMS; s++)
		tell_section(t, dict_stream_name(s), 0);
}

/*
 * Report the sections of a group: head, keys, values, patches. The values are
 * one section for each column or pair of columns; before each of these sections
 * is a byte with its model.
 */
static void tell_group(struct teller *t, size_t types)
{
	tell_section(t, "group: heads", 0);
	tell_section(t, "group: keys", 0);
	while (types && dec_left(&t->in)) {
		enum column_model model = dec_u8(&t->in);

		tell_section(t, "group: values", 1);
		types -= model == MODEL_UNSAMPLED && types > 1 ? 2 : 1;
	}
	if (dec_left(&t->in))
		t->fn(t->ctx, "group: patches", dec_left(&t->in));
}

/*
 * Decompress only the head of a group. The number of sample types in it tells
 * where the sections of values end.
 */
static void columns_list_sections(struct bytes stored, bool is_table,
				  void (*fn)(void *ctx, const char *section,
					     size_t bytes),
				  void *ctx)
{
	struct teller t = { dec_init(stored), fn, ctx };
	struct colgroup_coder *c;

	if (is_table) {
		tell_table(&t);
		return;
	}
	c = colgroup_coder_new();
	tell_group(&t, colgroup_types(c, stored));
	colgroup_coder_free(c);
}

/* The functions are described in model/codec.h. */
const struct codec codec_columns = {
	.id = CODEC_COLUMNS,
	.name = "columns",
	.encoder_new = columns_encoder_new,
	.encoder_free = columns_encoder_free,
	.encode = columns_encode,
	.adopt = columns_adopt,
	.encoder_table = columns_encoder_table,
	.encoder_is_full = columns_encoder_is_full,
	.encoder_finish = columns_encoder_finish,
	.table_open = table_open,
	.table_free = table_free,
	.table_memory = memory_of,
	.decoder_new = columns_decoder_new,
	.decoder_free = columns_decoder_free,
	.decoder_memory = columns_decoder_memory,
	.decode = columns_decode,
	.rows = columns_open_rows,
	.sections = columns_list_sections,
};
