/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/columns/encoder.h"

#include "pprof/columns/remap.h"
#include "pprof/dictionary/dict_decode.h"
#include "pprof/dictionary/dict_encode.h"
#include "pprof/dictionary/intern.h"
#include "pprof/dictionary/layout.h"
#include "pprof/proto/decode.h"
#include "pprof/rows/group.h"
#include "pprof/rows/group_decode.h"
#include "pprof/rows/group_encode.h"
#include "pprof/rows/reencode.h"

/* An encoder: the state of the stripe, then the state of the current group. */
struct codec_encoder {
	struct codec_table table;
	/*
	 * Mark of a new dictionary, which has only the empty text and the empty
	 * stack. Encoding from this mark on writes the whole table.
	 */
	struct dict_mark start;
	struct intern *intern;
	struct decoder *decoder;
	struct replay *replay;
	struct colgroup_coder *coder;
	struct zstd *zstd;
	int level;
	enum dialect dialect; /* dialect of the last profile */
	/* For each key: the key that followed it last time; 0: none. */
	VEC(uint32_t) successors;
	uint32_t first_key; /* first key of the last profile */
	/*
	 * Whether the last profile needed a patch (the bytes by which a profile
	 * differs from its replay), and the patch was small enough.
	 */
	bool patches;
	/* Whether a group was accepted in this stripe. */
	bool is_used;
	/*
	 * Translation from the table `remapped` to the current table, for
	 * columns_adopt(); NULL: none.
	 */
	struct remap *remap;
	const struct codec_table *remapped;
	/* Whether to accept groups even if zstd would make them smaller. */
	bool take_all;
	struct columns_counts counts;

	/* The current group. */
	struct colgroup group;
	/*
	 * Values of the first profile of the group, then of the next, and so
	 * on. For each profile: all values of the first sample type, then of
	 * the next.
	 */
	VEC(int64_t) values;
	/*
	 * Replay of the current profile: the bytes that decoding its columns
	 * gives.
	 */
	struct buf replayed;
	/*
	 * Statistics of the current group. They are added to `counts` if the
	 * group is accepted.
	 */
	struct columns_counts added;
};

/*
 * Dialects: finds the one in which a profile was written. To test a dialect, the
 * encoder makes a replay: it writes the profile again from the columns. In the
 * right dialect the replay equals the profile, or is so similar that a small
 * patch restores the profile.
 */

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
	int rc =
		layout_read_shape(raw, e->dialect, e->intern, &row->shape, err);

	buf_reset(&e->replayed);
	return rc ? rc :
		    replay_row(e->replay, &e->table.d, row, 2 * raw.len + MIB,
			       &e->replayed, err);
}

/*
 * Return ERR_UNSUPPORTED with a message that says why. A refused group is no
 * failure: storage then uses another codec.
 */
NODISCARD static int encoder_refuse(struct err *err, const char *why)
{
	return err_set(err, ERR_UNSUPPORTED,
		       "cannot store the profiles as columns: %s", why);
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
 * Return 0 if replaying in e->dialect gives the profile's bytes, ERR_NOTFOUND
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
 * Find the dialect of the profile `raw` and set row->shape; the other members
 * of `*row` are set already. Appends a patch (the bytes by which the profile
 * differs from its replay) to the group if there is a difference, and stores
 * the length of the patch in `*patch`, 0 without a patch. ERR_UNSUPPORTED: no
 * dialect is close enough.
 *
 * If the last profile needed a patch, only the dialect of that profile is
 * tried, because this profile most likely has the same writer.
 */
NODISCARD static int encoder_find_dialect(struct codec_encoder *e,
					  struct bytes raw, struct row *row,
					  uint32_t *patch, struct err *err)
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

/*
 * Maximum memory of a decoded profile (DECODE_MAX), and limits on the memory of
 * a stripe's dictionary: above DICT_FULL the stripe should end, above DICT_MAX
 * groups are refused.
 */
#define DECODE_MAX ((size_t)16 * MIB)
#define DICT_FULL  ((size_t)8 * MIB)
#define DICT_MAX   ((size_t)16 * MIB)

/* Compression level of the stored dictionary. */
#define DICT_LEVEL 12
#define ESTIMATE   3 /* compression level that is_worth() uses */
/*
 * If a group and the growth of the dictionary together are this many times
 * smaller than the profiles, the group is accepted without comparing it with
 * zstd, which cannot do better.
 */
#define SURELY_WORTH 48

/* is_all_new() may refuse a group whose profiles have more than MUCH bytes. */
#define MUCH ((size_t)512 * KIB)

/* A buffer with more bytes is freed after each group. */
#define BUFFER_KEEP ((size_t)1 * MIB)

/* Begin a stripe with an empty dictionary. */
static void start_stripe(struct codec_encoder *e)
{
	dict_init(&e->table.d);
	e->start = dict_mark(&e->table.d);
	e->intern = intern_new(&e->table.d);
	e->successors.count = 0;
	e->first_key = 0;
	e->is_used = false;
}

/* Delete the dictionary of the stripe and begin a new stripe. */
static void encoder_restart(struct codec_encoder *e)
{
	dict_fini(&e->table.d);
	intern_free(e->intern);
	e->table.d = (struct dictionary){ 0 };
	start_stripe(e);
}

struct codec_encoder *columns_encoder_new(int level)
{
	struct codec_encoder *e = mem_new(struct codec_encoder);

	e->decoder = decoder_new(DECODE_MAX);
	e->replay = replay_new();
	e->coder = colgroup_coder_new();
	e->zstd = zstd_new();
	e->level = level;
	start_stripe(e);
	return e;
}

/*
 * Forget the old table of the group that was adopted last, and free the
 * translation from it.
 *
 * Must also be called before the interner is used for anything but adopting.
 */
static void columns_adopt_end(struct codec_encoder *e)
{
	remap_free(e->remap);
	e->remap = NULL;
	e->remapped = NULL;
}

void columns_encoder_free(struct codec_encoder *e)
{
	if (!e)
		return;
	columns_adopt_end(e);
	dict_fini(&e->table.d);
	intern_free(e->intern);
	decoder_free(e->decoder);
	replay_free(e->replay);
	colgroup_coder_free(e->coder);
	zstd_free(e->zstd);
	vec_fini(&e->successors);
	colgroup_fini(&e->group);
	vec_fini(&e->values);
	buf_fini(&e->replayed);
	mem_free(e);
}

/* The table can be used at any time to decode groups of the stripe. */
const struct codec_table *columns_encoder_table(const struct codec_encoder *e)
{
	return &e->table;
}

void columns_encoder_take_all(struct codec_encoder *e)
{
	e->take_all = true;
}

const struct columns_counts *
columns_encoder_counts(const struct codec_encoder *e)
{
	return &e->counts;
}

/*
 * Memory of the stripe's dictionary with its hash tables, in bytes: DICT_FULL
 * and DICT_MAX limit memory.
 */
static size_t encoder_dict_size(const struct codec_encoder *e)
{
	return dict_memory(&e->table.d) + intern_memory(e->intern);
}

bool columns_encoder_is_full(const struct codec_encoder *e)
{
	return encoder_dict_size(e) > DICT_FULL;
}

/*
 * Return the key that is likely to follow `key`: the key that followed it last
 * time or, if there is none, the next number, because keys are numbered in the
 * order in which profiles first need them.
 */
static uint32_t likely_after(const struct codec_encoder *e, uint32_t key)
{
	uint32_t next = key < e->successors.count ? e->successors.v[key] : 0;

	return next ? next : key + 1;
}

/* Remember that the key `to` followed the key `of`. */
static void set_successor(struct codec_encoder *e, uint32_t of, uint32_t to)
{
	while (e->successors.count <= of)
		*vec_add(&e->successors) = 0;
	e->successors.v[of] = to;
}

/*
 * Find or add the key of each sample. Each key is guessed from the key before
 * it; a right guess saves a lookup.
 */
static void add_keys(struct codec_encoder *e, size_t samples)
{
	uint32_t likely = e->first_key;
	uint32_t last = 0;

	for (size_t i = 0; i < samples; i++) {
		uint32_t key = intern_key(e->intern, i, likely);

		if (!i)
			e->first_key = key;
		else if (key != likely)
			set_successor(e, last, key);
		*vec_add(&e->group.keys) = key;
		last = key;
		likely = likely_after(e, key);
	}
}

/*
 * Append the profile's values, one sample type after another. Returns the
 * offset of the first value; a pointer would become invalid when the vector
 * grows.
 */
static size_t encoder_add_values(struct codec_encoder *e, const struct pprof *p)
{
	size_t at = e->values.count;
	size_t samples = p->samples.count;

	vec_reserve(&e->values, samples * p->types.count + 1);
	e->values.count += samples * p->types.count;
	for (size_t t = 0; t < p->types.count; t++) {
		for (size_t i = 0; i < samples; i++)
			e->values.v[at + t * samples + i] =
				pprof_values(p, i)[t];
	}
	return at;
}

/*
 * Refuse profiles that exceed a limit of the format, and groups of profiles
 * with different numbers of sample types.
 */
static int check_limits(const struct codec_encoder *e, const struct pprof *p,
			struct err *err)
{
	size_t values = p->samples.count * (p->types.count + 1);

	if (p->mappings.count > DICT_LAYOUT_MAX)
		return encoder_refuse(err, "too many mappings");
	if (e->group.keys.count * (p->types.count + 1) + values >
	    COLGROUP_VALUES_MAX)
		return encoder_refuse(err, "too many values");
	if (e->group.count && p->types.count != e->group.types)
		return encoder_refuse(
			err, "the sample types of the profiles differ");
	return 0;
}

/*
 * Add a profile to the group: decode it, find its elements in the dictionary,
 * then find the dialect in which it is written. If no dialect fits, the row
 * stays in the group, but the caller discards the group.
 */
static int encoder_add_profile(struct codec_encoder *e, struct bytes raw,
			       struct err *err)
{
	struct colgroup *g = &e->group;
	size_t i = g->count;
	struct row *row = &g->rows[i];
	size_t first = g->keys.count;
	struct pprof *p = NULL;
	size_t at;
	int rc = decoder_run(e->decoder, raw, &p, err);

	if (rc)
		return encoder_refuse(err, "a profile cannot be decoded");
	rc = check_limits(e, p, err);
	if (rc)
		return rc;
	g->types = p->types.count;
	intern_begin(e->intern, p);
	*row = (struct row){ .layout = intern_layout(e->intern),
			     .time_ns = p->time_ns,
			     .duration_ns = p->duration_ns,
			     .period = p->period,
			     .samples = p->samples.count,
			     .stride = p->samples.count,
			     .types = p->types.count };
	add_keys(e, p->samples.count);
	at = encoder_add_values(e, p);
	if (encoder_dict_size(e) > DICT_MAX)
		return encoder_refuse(err, "the table would become too large");
	/*
	 * Valid only during encoder_find_dialect(): the next profile may move
	 * the vectors to which these members point.
	 */
	row->keys = g->keys.v + first;
	row->values = e->values.v + at;
	rc = encoder_find_dialect(e, raw, row, &g->patch_lens[i], err);
	g->count++;
	return rc;
}

/*
 * Turn the values, which are stored profile by profile, into one column per
 * sample type over all rows.
 */
static void join_values(struct codec_encoder *e)
{
	struct colgroup *g = &e->group;
	size_t total = g->keys.count;
	size_t from = 0;
	size_t at = 0;

	g->values.count = 0;
	vec_reserve(&g->values, g->types * total + 1);
	g->values.count = g->types * total;
	for (size_t i = 0; i < g->count; i++) {
		size_t samples = g->rows[i].samples;

		for (size_t t = 0; t < g->types && samples; t++) {
			memcpy(g->values.v + t * total + at, e->values.v + from,
			       samples * sizeof(int64_t));
			from += samples;
		}
		at += samples;
	}
	colgroup_link(g);
}

/*
 * Upper bound of the bytes by which the stored dictionary has grown since the
 * mark `from`. The factors are generous estimates of the stored bytes per
 * element.
 */
static size_t growth_bound(const struct codec_encoder *e,
			   const struct dict_mark *from)
{
	struct dict_mark now = dict_mark(&e->table.d);
	size_t sum = 12 * (now.functions - from->functions) +
		     16 * (now.locations - from->locations) +
		     8 * (now.lines - from->lines) +
		     6 * (now.nodes - from->nodes) +
		     12 * (now.keys - from->keys) +
		     20 * (now.labels - from->labels) +
		     4 * (now.label_sets - from->label_sets) +
		     24 * (now.bindings - from->bindings) +
		     6 * (now.words - from->words) +
		     40 * (now.mappings - from->mappings);

	for (size_t i = from->strings; i < now.strings; i++)
		sum += dict_str(&e->table.d, (uint32_t)i).len + 3;
	return sum;
}

/*
 * Stored size of the elements that were added to the dictionary since the mark
 * `from`.
 */
static size_t stored_size(const struct codec_encoder *e,
			  const struct dict_mark *from, int level)
{
	struct buf stored = { 0 };
	size_t len;

	dict_encode(&e->table.d, from, level, &stored);
	len = stored.len;
	buf_fini(&stored);
	return len;
}

/* Size in bytes that the group would have if stored with zstd. */
static size_t zstd_size(struct codec_encoder *e, const struct bytes *values,
			size_t count)
{
	struct buf frame = { 0 };
	size_t len;

	zstd_compress(e->zstd, e->level, values, count, &frame);
	len = frame.len;
	buf_fini(&frame);
	return len;
}

/* Total length of the profiles. */
static size_t encoder_length_of(const struct bytes *values, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += values[i].len;
	return sum;
}

/*
 * Whether the elements that are new to the dictionary take more than three
 * quarters of the profiles' size. If so, the profiles have so little in common
 * that zstd stores them better, and reading the rest of the group is not worth
 * it.
 */
static bool is_all_new(const struct codec_encoder *e,
		       const struct dict_mark *from, const struct bytes *values,
		       size_t count)
{
	size_t raw = encoder_length_of(values, count);

	return raw > MUCH && growth_bound(e, from) > raw / 4 * 3;
}

/*
 * Whether the group and the growth of the dictionary together are smaller than
 * the group with zstd. A cheap upper bound of the growth decides most cases;
 * only in close cases is the growth compressed to measure it
 * (docs/decisions.md, 50).
 */
static bool is_worth(struct codec_encoder *e, const struct dict_mark *from,
		     const struct bytes *values, size_t count, size_t stored)
{
	size_t bound = stored + growth_bound(e, from);
	size_t raw = encoder_length_of(values, count);
	size_t other;

	if (bound * SURELY_WORTH < raw)
		return true;
	other = zstd_size(e, values, count);
	return bound < other || stored + stored_size(e, from, ESTIMATE) < other;
}

/*
 * Free workspace that has become large; otherwise the encoder would keep the
 * memory of one large group.
 */
static void encoder_trim(struct codec_encoder *e)
{
	if (e->replayed.cap > BUFFER_KEEP)
		buf_fini(&e->replayed);
	if (vec_memory(&e->values) > BUFFER_KEEP)
		vec_fini(&e->values);
	if (colgroup_memory(&e->group) > BUFFER_KEEP)
		colgroup_fini(&e->group);
}

/* Add the statistics of an accepted group to the total. */
static void count_added(struct codec_encoder *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(e->counts.exact); i++)
		e->counts.exact[i] += e->added.exact[i];
	e->counts.patched += e->added.patched;
	e->counts.patch_bytes += e->added.patch_bytes;
}

/*
 * If the group is refused, the dictionary is restored, because elements that
 * only a refused group needs must not be stored.
 */
int columns_encode(struct codec_encoder *e, const struct bytes *values,
		   size_t count, struct buf *out, struct err *err)
{
	struct dict_mark mark = dict_mark(&e->table.d);
	size_t at = out->len;
	bool too_much = count > COLGROUP_ROWS_MAX ||
			encoder_length_of(values, count) > COLGROUP_BYTES_MAX;
	int rc = too_much ? encoder_refuse(err, "the profiles are too large") :
			    0;

	/*
	 * columns_adopt() keeps a translation for the next group. It becomes
	 * invalid when the interner is used for profiles, so it is freed here.
	 */
	columns_adopt_end(e);
	colgroup_reset(&e->group);
	e->group.top = (uint32_t)mark.keys;
	e->values.count = 0;
	e->added = (struct columns_counts){ 0 };
	for (size_t i = 0; i < count && !rc; i++) {
		rc = encoder_add_profile(e, values[i], err);
		if (!rc && !e->take_all && is_all_new(e, &mark, values, i + 1))
			rc = encoder_refuse(
				err, "the profiles have too little in common");
	}
	if (!rc) {
		join_values(e);
		colgroup_encode(e->coder, &e->table.d, &e->group, e->level,
				out);
		if (!e->take_all &&
		    !is_worth(e, &mark, values, count, out->len - at))
			rc = encoder_refuse(
				err, "zstd compresses the profiles better");
	}
	if (rc) {
		intern_rollback(e->intern, &mark);
		out->len = at;
		if (!e->is_used) /* free the memory of the refused group */
			encoder_restart(e);
	} else {
		e->is_used = true;
		count_added(e);
	}
	encoder_trim(e);
	return rc;
}

/* Encode the same elements at the same level as columns_encoder_finish(). */
size_t columns_encoder_table_size(const struct codec_encoder *e)
{
	return stored_size(e, &e->start, DICT_LEVEL);
}

/*
 * Decode the stored table and compare it with the dictionary, before stored
 * profiles rely on it.
 */
static int encoder_verify(const struct codec_encoder *e, struct bytes stored,
			  struct err *err)
{
	struct dictionary again = { 0 };
	int rc;

	dict_init(&again);
	rc = dict_decode(stored, &again, err);
	if (rc == ERR_TOOBIG || (!rc && !dict_equal(&again, &e->table.d)))
		rc = err_set(
			err, ERR_CORRUPT,
			"the new table of shared data does not decode to what was encoded");
	dict_fini(&again);
	return rc;
}

/*
 * If no group of the stripe was accepted, nothing is appended. The next stripe
 * begins even after an error.
 */
int columns_encoder_finish(struct codec_encoder *e, struct buf *out,
			   struct err *err)
{
	size_t at = out->len;
	int rc = 0;

	columns_adopt_end(e);
	if (e->is_used) {
		dict_encode(&e->table.d, &e->start, DICT_LEVEL, out);
		rc = encoder_verify(
			e, (struct bytes){ out->ptr + at, out->len - at }, err);
	}
	encoder_restart(e);
	return rc;
}

/*
 * Adopting: a stored group moves to the current stripe, without rebuilding its
 * profiles: numbers in the dictionary of the group's old stripe are
 * replaced by numbers in the current dictionary.
 */

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
			       "the chunk's table of shared data is missing");
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
