/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/flush.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "model/types.h"
#include "tsdb/body.h"
#include "tsdb/codec_zstd.h"
#include "tsdb/record.h"

#define LEVEL        3
#define BATCH_VALUES (4 * MIB)
#define BATCH_LOG    MIB
#define BUFFER_KEEP  MIB /* larger buffers are given back after use */

/* A record of the log to be, before its place is known. */
struct line {
	uint8_t kind;
	uint32_t series; /* RANGE_LABELS, RANGE_HEAD */
	struct buf head;
	uint64_t flushed;   /* RANGE_HEAD: LSN, on the last of a series */
	struct group group; /* RANGE_HEAD: place filled in at the commit */
};

struct flusher {
	struct wal *wal;
	const struct log *log;
	struct metric *damaged;
	struct metric *flushed;
	const struct codec *codec;
	struct codec_encoder *encoder;
	struct body_decoder decoder;
	struct buf record;  /* of the WAL, as read */
	struct buf next;    /* the profile in it */
	struct buf scratch; /* a group decoded again */

	/* The group being filled. */
	struct head head;
	int64_t totals[TYPES_MAX * GROUP_PROFILES_MAX];
	struct buf raw[GROUP_PROFILES_MAX];
	size_t raw_bytes;
	struct buf typeset;

	/* The batch: what one pair of syncs will make durable. */
	struct range *range;
	struct buf values;
	struct line *lines;
	size_t line_count;
	size_t line_cap;
	size_t line_bytes;
	uint32_t first_series; /* numbers before the batch */
	uint32_t first_typeset;
};

struct flusher *flusher_new(struct wal *wal, const struct log *log,
			    struct metrics *metrics)
{
	struct flusher *f = mem_new(struct flusher);

	f->wal = wal;
	f->log = log;
	f->codec = &codec_zstd;
	f->encoder = f->codec->encoder_new(LEVEL);
	f->head.totals = f->totals;
	f->damaged = metrics_counter(
		metrics, "everprof_tsdb_profiles_damaged_total",
		"Profiles dropped because their bytes were damaged on disk.",
		NULL);
	f->flushed = metrics_counter(
		metrics, "everprof_tsdb_profiles_flushed_total",
		"Profiles moved from the WAL into groups.", NULL);
	return f;
}

static void trim(struct buf *b)
{
	if (b->cap > BUFFER_KEEP)
		buf_fini(b);
	else
		buf_reset(b);
}

static void batch_begin(struct flusher *f, struct range *r)
{
	trim(&f->values);
	for (size_t i = 0; i < f->line_count; i++)
		buf_fini(&f->lines[i].head);
	f->line_count = 0;
	f->line_bytes = 0;
	f->range = r;
	f->first_series = r ? r->next_series : 0;
	f->first_typeset = r ? r->next_typeset : 0;
}

void flusher_free(struct flusher *f)
{
	if (!f)
		return;
	batch_begin(f, NULL);
	f->codec->encoder_free(f->encoder);
	body_decoder_fini(&f->decoder);
	buf_fini(&f->record);
	buf_fini(&f->next);
	buf_fini(&f->scratch);
	for (size_t i = 0; i < ARRAY_SIZE(f->raw); i++)
		buf_fini(&f->raw[i]);
	buf_fini(&f->typeset);
	buf_fini(&f->values);
	mem_free(f->lines);
	mem_free(f);
}

static struct line *line_add(struct flusher *f, uint8_t kind, uint32_t series)
{
	f->lines = mem_grow(f->lines, f->line_count, &f->line_cap,
			    sizeof(*f->lines));
	f->lines[f->line_count] =
		(struct line){ .kind = kind, .series = series };
	return &f->lines[f->line_count++];
}

static struct series *series_at(struct range *r, uint32_t series)
{
	struct series *s;

	pthread_mutex_lock(&r->mu);
	s = r->series[series];
	pthread_mutex_unlock(&r->mu);
	return s;
}

/* The series' number in the log, with a record of its labels if it is new. */
static uint32_t log_number(struct flusher *f, uint32_t series)
{
	/* log_number is this thread's alone once the range is open. */
	struct series *s = series_at(f->range, series);
	struct line *line;

	if (s->log_number != SERIES_UNWRITTEN)
		return s->log_number;
	s->log_number = f->range->next_series++;
	line = line_add(f, RANGE_LABELS, series);
	enc_uvarint(&line->head, s->log_number);
	enc_str(&line->head, str_from(labels_bytes(s->labels)));
	f->line_bytes += line->head.len;
	return s->log_number;
}

static uint32_t typeset_number(struct flusher *f)
{
	struct bytes typeset = buf_bytes(&f->typeset);
	uint32_t number = range_typeset_number(f->range, typeset);
	struct line *line;

	if (number != UINT32_MAX)
		return number;
	number = f->range->next_typeset++;
	range_set_typeset(f->range, number, typeset);
	line = line_add(f, RANGE_TYPES, 0);
	enc_uvarint(&line->head, number);
	enc_str(&line->head, str_from(typeset));
	return number;
}

/* What is about to be stored must decode to what came, whatever the codec. */
static int group_verify(struct flusher *f, struct bytes stored, struct err *err)
{
	uint32_t lens[GROUP_PROFILES_MAX];
	const struct head *h = &f->head;
	struct codec_group group = { .stored = stored,
				     .lens = lens,
				     .count = h->count };
	size_t at = 0;
	int rc;

	for (size_t i = 0; i < h->count; i++)
		lens[i] = h->profiles[i].raw_len;
	buf_reset(&f->scratch);
	rc = f->codec->decode(NULL, &group, 0, h->count, &f->scratch, err);
	for (size_t i = 0; i < h->count && !rc; at += lens[i++]) {
		struct bytes value = { .ptr = f->scratch.ptr + at,
				       .len = lens[i] };

		if (hash64(value) != h->profiles[i].hash)
			rc = err_set(err, ERR_CORRUPT,
				     "codec %s changed a profile",
				     f->codec->name);
	}
	return rc;
}

/* Compress the group's values into the batch. */
static int group_store(struct flusher *f, struct err *err)
{
	struct bytes values[GROUP_PROFILES_MAX];
	struct head *h = &f->head;
	size_t at = f->values.len;
	struct bytes stored;
	int rc;

	for (size_t i = 0; i < h->count; i++)
		values[i] = buf_bytes(&f->raw[i]);
	rc = f->codec->encode(f->encoder, values, h->count, &f->values,
			      &h->place.table_len, err);
	stored = (struct bytes){ .ptr = f->values.ptr + at,
				 .len = f->values.len - at };
	if (!rc)
		rc = group_verify(f, stored, err);
	h->codec = f->codec->id;
	h->place.offset = f->range->values_end + at;
	h->place.len = (uint32_t)stored.len;
	h->place.crc = crc32c(0, stored);
	return rc;
}

/*
 * Close the group, the index-th of its series in this flush. flushed is not 0
 * for the last one.
 */
static int group_close(struct flusher *f, uint32_t series, uint32_t index,
		       uint64_t flushed, struct err *err)
{
	struct head *h = &f->head;
	uint32_t number;
	struct line *line;
	int rc = group_store(f, err);

	if (rc)
		return rc;
	h->typeset = typeset_number(f);
	number = log_number(f, series);
	line = line_add(f, RANGE_HEAD, series);
	enc_uvarint(&line->head, number);
	enc_uvarint(&line->head, index);
	enc_be64(&line->head, flushed);
	head_encode(h, &line->head);
	line->flushed = flushed;
	line->group.first = h->profiles[0].ms;
	line->group.last = h->profiles[h->count - 1].ms;
	f->line_bytes += line->head.len;
	metric_add(f->flushed, h->count);
	for (size_t i = 0; i < h->count; i++)
		trim(&f->raw[i]);
	h->count = 0;
	f->raw_bytes = 0;
	return 0;
}

/* Whether p does not belong into the group that is being filled. */
static bool group_is_full(const struct flusher *f,
			  const struct segment_profile *p)
{
	return f->head.count == GROUP_PROFILES_MAX ||
	       f->raw_bytes + p->entry.raw_len > GROUP_BYTES_MAX ||
	       !bytes_eq(buf_bytes(&f->typeset), p->entry.typeset);
}

/* Move the profile in f->next into the group. */
static void group_add(struct flusher *f, const struct segment_profile *p)
{
	struct head *h = &f->head;
	struct dec totals = dec_init(p->totals);
	uint16_t i = h->count++;
	struct buf empty = f->raw[i];

	f->raw[i] = f->next;
	f->next = empty;
	f->raw_bytes += p->entry.raw_len;
	h->total_count = (uint16_t)p->total_count;
	h->profiles[i] = (struct head_profile){
		.ms = p->entry.ms,
		.duration_ns = p->duration_ns,
		.period = p->period,
		.sample_count = p->sample_count,
		.hash = p->entry.hash,
		.raw_len = p->entry.raw_len,
	};
	for (size_t t = 0; t < p->total_count; t++)
		h->totals[t * GROUP_PROFILES_MAX + i] = dec_svarint(&totals);
	if (i)
		return;
	buf_reset(&f->typeset);
	buf_add(&f->typeset, p->entry.typeset.ptr, p->entry.typeset.len);
}

/* Read a pending profile into f->next, verified. */
static int load(struct flusher *f, const struct pending *p,
		struct segment_profile *out, struct err *err)
{
	struct wal_segment *s = wal_segment(f->wal, p->lsn);
	int rc;

	if (!s)
		return err_set(err, ERR_CORRUPT, "its WAL segment is gone");
	rc = wal_segment_read(s, p->lsn, p->len, &f->record, out, err);
	if (!rc)
		rc = body_decode(&f->decoder, out, &f->next, err);
	wal_segment_unref(s);
	return rc;
}

static void report_damage(struct flusher *f, uint32_t series,
			  const struct pending *p, const struct err *err)
{
	struct buf labels = { 0 };

	labels_text(series_at(f->range, series)->labels, &labels);
	metric_add(f->damaged, 1);
	log_event(f->log, LOG_ERROR, "a damaged profile is dropped",
		  LOG_FIELDS(log_text("labels", buf_cstr(&labels)),
			     log_int("time", p->ms), log_err(err)));
	buf_fini(&labels);
}

/* The records of the batch, each at its place behind the log's end. */
static void batch_encode(struct flusher *f, struct buf *out)
{
	for (size_t i = 0; i < f->line_count; i++) {
		struct line *line = &f->lines[i];
		struct record rec = {
			.position = f->range->groups_end + out->len,
			.kind = line->kind,
			.head = buf_bytes(&line->head),
		};

		record_encode(&rec, f->range->salt, out);
		line->group.at = rec.position;
		line->group.len = (uint32_t)record_padded(rec.head.len, 0);
	}
}

/* Memory learns of the groups, and forgets what was pending. */
static void batch_apply(struct flusher *f)
{
	struct range *r = f->range;

	pthread_mutex_lock(&r->mu);
	for (size_t i = 0; i < f->line_count; i++) {
		const struct line *line = &f->lines[i];
		struct series *s;
		uint32_t before;

		if (line->kind != RANGE_HEAD)
			continue;
		s = r->series[line->series];
		before = s->pending_count;
		series_add_group(s, &line->group);
		if (line->flushed)
			series_flushed(s, line->flushed);
		r->pending -= before - s->pending_count;
	}
	pthread_mutex_unlock(&r->mu);
}

/* As if the batch had never been. */
static void batch_undo(struct flusher *f)
{
	struct range *r = f->range;

	for (size_t i = 0; i < f->line_count; i++) {
		if (f->lines[i].kind == RANGE_LABELS)
			series_at(r, f->lines[i].series)->log_number =
				SERIES_UNWRITTEN;
	}
	r->next_series = f->first_series;
	r->next_typeset = f->first_typeset;
	range_drop_typesets(r, f->first_typeset);
	/* Records behind the end would look whole to the next start. */
	if (file_truncate(r->groups, r->groups_end, NULL))
		r->broken = true;
	f->head.count = 0;
	f->raw_bytes = 0;
}

static int batch_write(struct flusher *f, struct buf *log, struct err *err)
{
	struct range *r = f->range;
	int rc;

	batch_encode(f, log);
	rc = file_write(r->values, r->values_end, buf_bytes(&f->values), err);
	if (!rc)
		rc = file_sync(r->values, err);
	if (!rc)
		rc = file_write(r->groups, r->groups_end, buf_bytes(log), err);
	if (!rc)
		rc = file_sync(r->groups, err);
	return rc;
}

static int batch_commit(struct flusher *f, struct err *err)
{
	struct range *r = f->range;
	struct buf log = { 0 };
	int rc = 0;

	if (!f->line_count)
		return 0;
	rc = batch_write(f, &log, err);
	if (!rc) {
		r->values_end += f->values.len;
		r->groups_end += log.len;
		batch_apply(f);
		batch_begin(f, r);
	}
	buf_fini(&log);
	return rc;
}

/* Everything that is pending in a series, and up to which LSN that is. */
static struct pending *pending_copy(struct range *r, uint32_t series,
				    size_t *count, uint64_t *newest)
{
	const struct series *s;
	struct pending *v;

	pthread_mutex_lock(&r->mu);
	s = r->series[series];
	*count = s->pending_count;
	v = mem_dup(s->pending, s->pending_count * sizeof(*v));
	pthread_mutex_unlock(&r->mu);
	*newest = 0;
	for (size_t i = 0; i < *count; i++) {
		if (v[i].lsn > *newest)
			*newest = v[i].lsn;
	}
	return v;
}

/* Damaged profiles alone: there is no head to carry their LSN. */
static void forget_pending(struct range *r, uint32_t series, uint64_t newest)
{
	struct series *s;

	pthread_mutex_lock(&r->mu);
	s = r->series[series];
	r->pending -= s->pending_count;
	series_flushed(s, newest);
	r->pending += s->pending_count;
	pthread_mutex_unlock(&r->mu);
}

static int flush_profiles(struct flusher *f, uint32_t series,
			  const struct pending *v, size_t count,
			  uint64_t newest, struct err *err)
{
	uint32_t index = 0;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		struct segment_profile p = { 0 };

		/* A repeated record that an earlier start let in. */
		if (i && v[i].ms == v[i - 1].ms)
			continue;
		rc = load(f, &v[i], &p, err);
		if (rc == ERR_IO)
			rc = load(f, &v[i], &p, err);
		/* A sector that the disk does not give back is damage too. */
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			report_damage(f, series, &v[i], err);
			rc = 0;
			continue;
		}
		if (!rc && f->head.count && group_is_full(f, &p))
			rc = group_close(f, series, index++, 0, err);
		if (!rc)
			group_add(f, &p);
	}
	if (rc)
		return rc;
	if (f->head.count)
		return group_close(f, series, index, newest, err);
	forget_pending(f->range, series, newest);
	return 0;
}

static int flush_series(struct flusher *f, uint32_t series, struct err *err)
{
	size_t count;
	uint64_t newest;
	struct pending *v = pending_copy(f->range, series, &count, &newest);
	int rc = count ? flush_profiles(f, series, v, count, newest, err) : 0;

	mem_free(v);
	if (!rc &&
	    (f->values.len >= BATCH_VALUES || f->line_bytes >= BATCH_LOG))
		rc = batch_commit(f, err);
	return rc;
}

/* The first series from *from on with a pending profile below lsn. */
static bool next_series(struct range *r, uint64_t lsn, uint32_t *from)
{
	bool found = false;

	pthread_mutex_lock(&r->mu);
	while (!found && *from < r->index.series) {
		found = series_oldest(r->series[*from]) < lsn;
		*from += !found;
	}
	pthread_mutex_unlock(&r->mu);
	return found;
}

int flush_range(struct flusher *f, struct range *r, uint64_t lsn,
		struct err *err)
{
	int rc = 0;

	if (r->broken)
		return err_set(
			err, ERR_IO,
			"%s: a failed write could not be undone; restart everprof",
			r->path);
	batch_begin(f, r);
	for (uint32_t i = 0; !rc && next_series(r, lsn, &i); i++)
		rc = flush_series(f, i, err);
	if (!rc)
		rc = batch_commit(f, err);
	if (rc)
		batch_undo(f);
	return rc;
}
