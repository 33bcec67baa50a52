/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/flush.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "model/types.h"
#include "tsdb/chunk/chunk_writer.h"
#include "tsdb/io/record.h"
#include "tsdb/wal/body.h"
#include "tsdb/wal/wal_segment.h"

#define LEVEL        3
#define BATCH_VALUES (4 * MIB)
#define BATCH_LOG    MIB

/* A record of the log to be, before its place is known. */
struct line {
	uint8_t kind;
	uint32_t series; /* RANGE_LABELS, RANGE_HEAD */
	struct buf head;
	uint64_t flushed;   /* RANGE_HEAD: LSN, on the last of a series */
	struct chunk group; /* RANGE_HEAD: place filled in at the commit */
};

struct flusher {
	struct wal *wal;
	const struct log *log;
	struct metric *damaged;
	struct metric *flushed;
	struct body_decoder decoder;
	struct buf record;          /* of the WAL, as read */
	struct buf next;            /* the profile in it */
	int64_t totals[TYPES_MAX];  /* of it */
	struct chunk_writer *group; /* being filled */

	/* The batch: what one pair of syncs will make durable. */
	struct head *head;
	struct buf values;
	struct line *lines;
	size_t line_count;
	size_t line_cap;
	size_t line_bytes;
	uint32_t first_series; /* numbers before the batch */
	uint32_t first_typeset;
};

struct flusher *flusher_new(struct wal *wal, const struct log *log,
			    struct metrics *metrics, struct metric *damaged)
{
	struct flusher *f = mem_new(struct flusher);

	f->wal = wal;
	f->log = log;
	f->damaged = damaged;
	f->flushed = metrics_counter(
		metrics, "everprof_tsdb_profiles_flushed_total",
		"Profiles moved from the WAL into groups.", NULL);
	return f;
}

static void batch_begin(struct flusher *f, struct head *r)
{
	buf_fini(&f->values);
	for (size_t i = 0; i < f->line_count; i++)
		buf_fini(&f->lines[i].head);
	f->line_count = 0;
	f->line_bytes = 0;
	f->head = r;
	f->first_series = r ? r->next_series : 0;
	f->first_typeset = r ? r->next_typeset : 0;
}

void flusher_free(struct flusher *f)
{
	if (!f)
		return;
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

static struct series *series_at(struct head *r, uint32_t series)
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
	struct series *s = series_at(f->head, series);
	struct line *line;

	if (s->log_number != SERIES_UNWRITTEN)
		return s->log_number;
	s->log_number = f->head->next_series++;
	line = line_add(f, HEAD_LABELS, series);
	enc_uvarint(&line->head, s->log_number);
	enc_str(&line->head, str_from(labels_bytes(s->labels)));
	f->line_bytes += line->head.len;
	return s->log_number;
}

static uint32_t typeset_number(struct flusher *f)
{
	struct bytes typeset = buf_bytes(&f->group->typeset);
	uint32_t number = head_typeset_number(f->head, typeset);
	struct line *line;

	if (number != UINT32_MAX)
		return number;
	number = f->head->next_typeset++;
	head_set_typeset(f->head, number, typeset);
	line = line_add(f, HEAD_TYPES, 0);
	enc_uvarint(&line->head, number);
	enc_str(&line->head, str_from(typeset));
	return number;
}

/*
 * Close the group, the index-th of its series in this flush. flushed is not 0
 * for the last one.
 */
static int group_close(struct flusher *f, uint32_t series, uint32_t index,
		       uint64_t flushed, struct err *err)
{
	struct chunk_meta *h = &f->group->meta;
	uint32_t number;
	struct line *line;
	int rc;

	h->place.offset = f->head->values_end + f->values.len;
	rc = chunk_writer_store(f->group, &f->values, err);
	if (rc)
		return rc;
	h->typeset = typeset_number(f);
	number = log_number(f, series);
	line = line_add(f, HEAD_CHUNK, series);
	enc_uvarint(&line->head, number);
	enc_uvarint(&line->head, index);
	enc_be64(&line->head, flushed);
	chunk_meta_encode(h, &line->head);
	line->flushed = flushed;
	line->group.first = h->profiles[0].ms;
	line->group.last = h->profiles[h->count - 1].ms;
	f->line_bytes += line->head.len;
	metric_add(f->flushed, h->count);
	chunk_writer_reset(f->group);
	return 0;
}

/* Move the profile in f->next into the group. */
static void group_add(struct flusher *f, const struct segment_profile *p)
{
	struct dec totals = dec_init(p->totals);

	for (size_t t = 0; t < p->total_count; t++)
		f->totals[t] = dec_svarint(&totals);
	chunk_writer_add(
		f->group,
		&(struct chunk_profile){ .ms = p->entry.ms,
					 .duration_ns = p->duration_ns,
					 .period = p->period,
					 .sample_count = p->sample_count,
					 .hash = p->entry.hash,
					 .raw_len = p->entry.raw_len },
		p->entry.typeset, f->totals, &f->next);
}

/* Read a pending profile into f->next, verified. */
static int flush_load(struct flusher *f, const struct unflushed *p,
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
			  const struct unflushed *p, const struct err *err)
{
	struct buf labels = { 0 };

	labels_text(series_at(f->head, series)->labels, &labels);
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
			.position = f->head->groups_end + out->len,
			.kind = line->kind,
			.head = buf_bytes(&line->head),
		};

		record_encode(&rec, f->head->salt, out);
		line->group.at = rec.position;
		line->group.len = (uint32_t)record_padded(rec.head.len, 0);
	}
}

/* Memory learns of the groups, and forgets what was pending. */
static void batch_apply(struct flusher *f)
{
	struct head *r = f->head;

	pthread_mutex_lock(&r->mu);
	for (size_t i = 0; i < f->line_count; i++) {
		const struct line *line = &f->lines[i];
		struct series *s;
		uint32_t before;

		if (line->kind != HEAD_CHUNK)
			continue;
		s = r->series[line->series];
		before = s->pending_count;
		series_add_group(s, &line->group);
		if (line->flushed)
			series_flushed(s, line->flushed);
		head_pending_locked(r, (int64_t)s->pending_count -
					       (int64_t)before);
	}
	pthread_mutex_unlock(&r->mu);
}

/* As if the batch had never been. */
static void batch_undo(struct flusher *f)
{
	struct head *r = f->head;

	for (size_t i = 0; i < f->line_count; i++) {
		if (f->lines[i].kind == HEAD_LABELS)
			series_at(r, f->lines[i].series)->log_number =
				SERIES_UNWRITTEN;
	}
	r->next_series = f->first_series;
	r->next_typeset = f->first_typeset;
	head_drop_typesets(r, f->first_typeset);
	/* Records behind the end would look whole to the next start. */
	if (file_truncate(r->groups, r->groups_end, NULL))
		r->broken = true;
	chunk_writer_reset(f->group);
}

static int batch_write(struct flusher *f, struct buf *log, struct err *err)
{
	struct head *r = f->head;
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
	struct head *r = f->head;
	struct buf log = { 0 };
	int rc = 0;

	if (!f->line_count)
		return 0;
	rc = batch_write(f, &log, err);
	if (!rc) {
		pthread_mutex_lock(&r->mu);
		r->values_end += f->values.len;
		r->groups_end += log.len;
		pthread_mutex_unlock(&r->mu);
		batch_apply(f);
		batch_begin(f, r);
	}
	buf_fini(&log);
	return rc;
}

/* What is pending in a series below upto, and up to which LSN that is. */
static struct unflushed *pending_copy(struct head *r, uint32_t series,
				      uint64_t upto, size_t *count,
				      uint64_t *newest)
{
	const struct series *s;
	struct unflushed *v;

	*count = 0;
	*newest = 0;
	pthread_mutex_lock(&r->mu);
	s = r->series[series];
	v = mem_alloc(s->pending_count * sizeof(*v));
	for (uint32_t i = 0; i < s->pending_count; i++) {
		if (s->pending[i].lsn >= upto)
			continue;
		v[(*count)++] = s->pending[i];
		if (s->pending[i].lsn > *newest)
			*newest = s->pending[i].lsn;
	}
	pthread_mutex_unlock(&r->mu);
	return v;
}

/* Damaged profiles alone: there is no head to carry their LSN. */
static void forget_pending(struct head *r, uint32_t series, uint64_t newest)
{
	struct series *s;
	uint32_t before;

	pthread_mutex_lock(&r->mu);
	s = r->series[series];
	before = s->pending_count;
	series_flushed(s, newest);
	head_pending_locked(r, (int64_t)s->pending_count - (int64_t)before);
	pthread_mutex_unlock(&r->mu);
}

static int flush_profiles(struct flusher *f, uint32_t series,
			  const struct unflushed *v, size_t count,
			  uint64_t newest, struct err *err)
{
	int64_t last = INT64_MIN; /* the last one that was whole */
	uint32_t index = 0;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		struct segment_profile p = { 0 };

		/* A repeated record that an earlier start let in. */
		if (v[i].ms == last)
			continue;
		rc = flush_load(f, &v[i], &p, err);
		/* A second look: bytes may be wrong in passing, too. */
		if (rc == ERR_IO || rc == ERR_CORRUPT)
			rc = flush_load(f, &v[i], &p, err);
		/* A sector that the disk does not give back is damage too. */
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			report_damage(f, series, &v[i], err);
			rc = 0;
			continue;
		}
		last = p.entry.ms;
		if (!rc && f->values.len >= BATCH_VALUES)
			rc = batch_commit(f, err); /* the rest comes behind */
		if (!rc && chunk_writer_is_full(f->group, p.entry.raw_len,
						p.entry.typeset))
			rc = group_close(f, series, index++, 0, err);
		if (!rc)
			group_add(f, &p);
	}
	if (rc)
		return rc;
	if (f->group->meta.count)
		return group_close(f, series, index, newest, err);
	forget_pending(f->head, series, newest);
	return 0;
}

static int flush_series(struct flusher *f, uint32_t series, uint64_t upto,
			struct err *err)
{
	size_t count;
	uint64_t newest;
	struct unflushed *v =
		pending_copy(f->head, series, upto, &count, &newest);
	int rc = count ? flush_profiles(f, series, v, count, newest, err) : 0;

	mem_free(v);
	if (!rc &&
	    (f->values.len >= BATCH_VALUES || f->line_bytes >= BATCH_LOG))
		rc = batch_commit(f, err);
	return rc;
}

/* The first series from *from on with a pending profile below lsn. */
static bool flush_next_series(struct head *r, uint64_t lsn, uint32_t *from)
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

int flush_range(struct flusher *f, struct head *r, uint64_t lsn, uint64_t upto,
		struct err *err)
{
	int rc = 0;

	if (r->broken)
		return err_set(
			err, ERR_IO,
			"%s: a failed write could not be undone; restart everprof",
			r->path);
	/* Its workspace is kept no longer than there is work. */
	f->group = chunk_writer_new(NULL, LEVEL);
	batch_begin(f, r);
	for (uint32_t i = 0; !rc && flush_next_series(r, lsn, &i); i++)
		rc = flush_series(f, i, upto, err);
	if (!rc)
		rc = batch_commit(f, err);
	if (rc)
		batch_undo(f);
	batch_begin(f, NULL);
	chunk_writer_free(f->group);
	body_decoder_fini(&f->decoder);
	buf_fini(&f->record);
	buf_fini(&f->next);
	return rc;
}
