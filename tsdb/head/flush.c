/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/head/flush.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/units.h"
#include "model/types.h"
#include "tsdb/chunk/chunk_writer.h"
#include "tsdb/io/record.h"
#include "tsdb/wal/body.h"
#include "tsdb/wal/wal_mark.h"
#include "tsdb/wal/wal_segment.h"

#define LEVEL        3 /* zstd level; low, as sealing compresses again */
#define BATCH_VALUES (4 * MIB)
#define BATCH_LOG    MIB

/*
 * After as many series of a head whose profiles cannot be read, a flush leaves
 * the rest of the head for later.
 */
#define PUT_OFF_MAX 16

/*
 * A record of the batch, which will be appended to the head's log. Only records
 * of the kind HEAD_CHUNK use the members from `flushed` on.
 */
struct line {
	uint8_t kind;
	uint32_t series; /* number of the series in the head */
	struct buf head;
	uint64_t flushed; /* see group_close() */
	struct chunk group;
	uint32_t profiles; /* number of profiles in the chunk */
};

struct flusher {
	struct wal *wal;
	const struct log *log;
	struct metric *damaged;
	struct metric *flushed;
	struct body_decoder decoder;
	struct buf record;          /* WAL record as read */
	struct buf next;            /* uncompressed profile of that record */
	int64_t totals[TYPES_MAX];  /* totals of that profile */
	struct chunk_writer *group; /* chunk being filled */

	/* The batch: values and records that will be made durable next. */
	struct head *head;
	struct buf values;
	struct line *lines;
	size_t line_count;
	size_t line_cap;
	size_t line_bytes;
	uint32_t began; /* number of the series with which the batch began */
	/* Next free numbers of the log when the batch began. */
	uint32_t first_series;
	uint32_t first_typeset;

	/* Series that this flush leaves for later, by number. */
	uint32_t put_off[PUT_OFF_MAX];
	size_t put_off_count;
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
		"Profiles moved from the WAL into chunks of head blocks.",
		NULL);
	return f;
}

/* Drop the current batch and begin an empty one for head r, or for none. */
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

/* Append a record to the batch. The result is valid until the next call. */
static struct line *line_add(struct flusher *f, uint8_t kind, uint32_t series)
{
	f->lines = mem_grow(f->lines, f->line_count, &f->line_cap,
			    sizeof(*f->lines));
	f->lines[f->line_count] =
		(struct line){ .kind = kind, .series = series };
	return &f->lines[f->line_count++];
}

/*
 * A series of the head by its number. The lock is needed only to read the array
 * of pointers, which an insert may move; the series itself is not moved.
 */
static struct series *series_at(struct head *r, uint32_t series)
{
	struct series *s;

	mutex_lock(&r->mu);
	s = r->series[series];
	mutex_unlock(&r->mu);
	return s;
}

/*
 * Number of a series in the head's log. For a series without a number, a record
 * with the labels is added before the record of its first chunk.
 */
static uint32_t log_number(struct flusher *f, uint32_t series)
{
	/* No lock: only the flush thread uses log_number of an open head. */
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

/*
 * Number of the chunk's type set in the head's log. For a new type set, a
 * record is added before the record of the chunk. Readers see the type set at
 * once; if the batch fails, batch_undo() removes it.
 */
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
 * Compress the chunk and add its metadata to the batch. `index` numbers the
 * chunks that this flush writes for the series. For the last of these chunks,
 * `flushed` is the LSN up to which the series is then flushed; for the others
 * it is 0. When the head is opened again, the LSN is accepted only if no chunk
 * of the flush is missing (docs/decisions.md, 6).
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
	line->profiles = h->count;
	chunk_writer_reset(f->group);
	return 0;
}

/* Add the profile in f->next to the chunk, which takes over the buffer. */
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

/* Read an unflushed profile from the WAL into f->next and verify its hash. */
static int flush_load(struct flusher *f, const struct unflushed *p,
		      struct segment_profile *out, struct err *err)
{
	struct wal_segment *s = wal_segment(f->wal, p->lsn);
	int rc;

	if (!s)
		return err_set(err, ERR_CORRUPT,
			       "WAL segment %08llu is missing",
			       (unsigned long long)(p->lsn >> 32));
	rc = wal_segment_read(s, p->lsn, p->len, &f->record, out, err);
	if (!rc)
		rc = wal_segment_body(s, out, &f->decoder, &f->next, err);
	wal_segment_unref(s);
	return rc;
}

/*
 * Count and log a profile that is left out of the head block: its labels and
 * its time, so that operators can see which program is affected.
 */
static void report_damage(struct flusher *f, uint32_t series,
			  const struct unflushed *p, const struct err *err)
{
	struct buf labels = { 0 };
	char time[40];

	time_format(p->ms, time);
	labels_text(series_at(f->head, series)->labels, &labels);
	metric_add(f->damaged, 1);
	log_event(
		f->log, LOG_ERROR,
		err->code == ERR_IO ?
			"the disk cannot read a profile of the WAL; the profile is missing until the disk can read it" :
			"dropping a damaged profile of the WAL",
		LOG_FIELDS(log_text("labels", buf_cstr(&labels)),
			   log_text("time", time), log_err(err)));
	buf_fini(&labels);
}

/*
 * Encode the records of the batch one after another, as they will be appended
 * to the log, and note their offsets in the log. The offsets must be known
 * here, because the checksum of a record includes its offset.
 */
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

/*
 * Make the committed chunks visible to readers and drop the unflushed entries
 * that they replace, under one lock, so that a reader finds every profile
 * exactly once.
 */
static void batch_apply(struct flusher *f)
{
	struct head *r = f->head;

	mutex_lock(&r->mu);
	for (size_t i = 0; i < f->line_count; i++) {
		const struct line *line = &f->lines[i];

		if (line->kind != HEAD_CHUNK)
			continue;
		series_add_group(r->series[line->series], &line->group);
		if (line->flushed)
			head_forget_flushed_locked(r, line->series,
						   line->flushed);
		metric_add(f->flushed, line->profiles);
	}
	mutex_unlock(&r->mu);
}

/* Undo a batch that could not be committed, in memory and in the log. */
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
	/*
	 * If the records of the batch stayed in the log, they would be read
	 * when the head is opened again. The batch's values may stay in their
	 * file: nothing refers to them.
	 */
	r->broken = file_truncate(r->groups, r->groups_end, NULL) != 0;
	chunk_writer_reset(f->group);
}

/* Make the values durable, then the metadata that refers to them. */
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

/*
 * Write the batch and make it visible to readers. On failure the batch is kept,
 * so that the caller can undo it.
 */
static int batch_commit(struct flusher *f, struct err *err)
{
	struct head *r = f->head;
	struct buf log = { 0 };
	int rc = 0;

	if (!f->line_count)
		return 0;
	rc = batch_write(f, &log, err);
	if (!rc) {
		mutex_lock(&r->mu);
		r->values_end += f->values.len;
		r->groups_end += log.len;
		mutex_unlock(&r->mu);
		batch_apply(f);
		batch_begin(f, r);
	}
	buf_fini(&log);
	return rc;
}

/*
 * Copy the unflushed profiles of a series with LSNs below `upto`; *newest is
 * the highest of these LSNs. The caller frees the array.
 */
static struct unflushed *unflushed_copy(struct head *r, uint32_t series,
					uint64_t upto, size_t *count,
					uint64_t *newest)
{
	const struct series *s;
	struct unflushed *v;

	*count = 0;
	*newest = 0;
	mutex_lock(&r->mu);
	s = r->series[series];
	v = mem_alloc(s->unflushed_count * sizeof(*v));
	for (uint32_t i = 0; i < s->unflushed_count; i++) {
		if (s->unflushed[i].lsn >= upto)
			continue;
		v[(*count)++] = s->unflushed[i];
		if (s->unflushed[i].lsn > *newest)
			*newest = s->unflushed[i].lsn;
	}
	mutex_unlock(&r->mu);
	return v;
}

/*
 * Drop the entries of a series' unflushed profiles when none of these profiles
 * can be read. The flushed LSN on disk does not change, because it is stored with
 * chunks. After a restart, the profiles are therefore found in the WAL again if
 * their segment still exists.
 */
static void unflushed_forget(struct head *r, uint32_t series, uint64_t newest)
{
	mutex_lock(&r->mu);
	head_forget_flushed_locked(r, series, newest);
	mutex_unlock(&r->mu);
}

/*
 * Read an unflushed profile as flush_load() does, but once more after a
 * failure, because the error may have been transient. ERR_AGAIN: the disk does
 * not answer, so that the series has to wait. ERR_CORRUPT, ERR_IO: the profile
 * is to be left out.
 */
static int flush_load_patiently(struct flusher *f, const struct unflushed *p,
				struct segment_profile *out, struct err *err)
{
	int rc = flush_load(f, p, out, err);

	if (rc == ERR_IO || rc == ERR_CORRUPT)
		rc = flush_load(f, p, out, err);
	return outage_note(&f->head->flush_outage, rc, f->head->env->outage_ms,
			   err);
}

/*
 * Leave a profile out of the head block. If the disk could not read it, its
 * segment is marked first, so that no crash forgets it. ERR_AGAIN: that failed,
 * so the series has to wait.
 */
static int flush_leave_out(struct flusher *f, uint32_t series,
			   const struct unflushed *p, const struct err *why,
			   struct err *err)
{
	if (why->code == ERR_IO && wal_mark_unread(f->wal, p->lsn, err))
		return err_wrap(
			err, ERR_AGAIN,
			"cannot create the second name *.unread (a hard link) of a WAL segment that the disk cannot read; its profiles stay in the WAL for now");
	report_damage(f, series, p, why);
	return 0;
}

/* Flush the profiles v[] of one series into chunks. */
static int flush_profiles(struct flusher *f, uint32_t series,
			  const struct unflushed *v, size_t count,
			  uint64_t newest, struct err *err)
{
	int64_t last = INT64_MIN; /* time of the last intact profile */
	uint32_t index = 0;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		struct segment_profile p = { 0 };
		struct err why = { 0 };

		/* A second WAL record of the same profile: skip it. */
		if (v[i].ms == last)
			continue;
		rc = flush_load_patiently(f, &v[i], &p, &why);
		if (rc == ERR_CORRUPT || rc == ERR_IO) {
			rc = flush_leave_out(f, series, &v[i], &why, err);
			continue;
		}
		if (rc)
			*err = why;
		last = p.entry.ms;
		if (!rc && f->values.len >= BATCH_VALUES)
			/* Later chunks of the series go to the next batch. */
			rc = batch_commit(f, err);
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
	unflushed_forget(f->head, series, newest);
	return 0;
}

/* Flush one series, and commit the batch if it has become large. */
static int flush_series(struct flusher *f, uint32_t series, uint64_t upto,
			struct err *err)
{
	size_t count;
	uint64_t newest;
	struct unflushed *v =
		unflushed_copy(f->head, series, upto, &count, &newest);
	int rc = count ? flush_profiles(f, series, v, count, newest, err) : 0;

	mem_free(v);
	if (!rc &&
	    (f->values.len >= BATCH_VALUES || f->line_bytes >= BATCH_LOG))
		rc = batch_commit(f, err);
	return rc;
}

/*
 * Search the series with numbers *from and higher for the first that has an
 * unflushed profile with an LSN below `lsn`, and set *from to its number.
 * False: there is no such series.
 */
static bool flush_next_series(struct head *r, uint64_t lsn, uint32_t *from)
{
	bool found = false;

	mutex_lock(&r->mu);
	while (!found && *from < r->index.series) {
		found = series_oldest(r->series[*from]) < lsn;
		*from += !found;
	}
	mutex_unlock(&r->mu);
	return found;
}

/* Whether this flush leaves a series for later. */
static bool flush_is_put_off(const struct flusher *f, uint32_t series)
{
	for (size_t i = 0; i < f->put_off_count; i++) {
		if (f->put_off[i] == series)
			return true;
	}
	return false;
}

/*
 * Leave a series for later, because the disk does not answer reads of its
 * profiles: undo the batch, and begin again with the series of the batch, which
 * are then written without this one. Returns false if too many series have been
 * left.
 */
static bool flush_put_off(struct flusher *f, uint32_t *series)
{
	struct head *r = f->head;

	batch_undo(f);
	batch_begin(f, r);
	if (r->broken || f->put_off_count == PUT_OFF_MAX)
		return false;
	f->put_off[f->put_off_count++] = *series;
	*series = f->began;
	return true;
}

/* Flush all series but those that have to wait for the disk. */
static int flush_all_series(struct flusher *f, uint64_t lsn, uint64_t upto,
			    struct err *err)
{
	struct head *r = f->head;
	uint32_t i = 0;
	int rc = 0;

	while (!rc && flush_next_series(r, lsn, &i)) {
		if (!f->line_count)
			f->began = i;
		if (!flush_is_put_off(f, i))
			rc = flush_series(f, i, upto, err);
		if (rc == ERR_AGAIN && flush_put_off(f, &i))
			rc = 0;
		else
			i++;
	}
	return rc ? rc : batch_commit(f, err);
}

/* Cut off what an earlier failure has left in the log, if it still has to be. */
static int flush_mend(struct head *r, struct err *err)
{
	int rc = r->broken ? file_truncate(r->groups, r->groups_end, err) : 0;

	if (rc)
		return err_wrap(
			err, rc,
			"an incomplete write to a head block cannot be undone yet; its profiles stay in the WAL");
	r->broken = false;
	return 0;
}

int flush_range(struct flusher *f, struct head *r, uint64_t lsn, uint64_t upto,
		struct err *err)
{
	struct err why = { 0 };
	int rc = flush_mend(r, err);

	if (!rc)
		rc = wal_mark_settle(f->wal, err);
	if (rc)
		return rc;
	/* Only a flush needs the chunk writer's large buffers. */
	f->group = chunk_writer_new(NULL, LEVEL);
	f->put_off_count = 0;
	batch_begin(f, r);
	rc = flush_all_series(f, lsn, upto, &why);
	if (rc)
		batch_undo(f);
	else if (f->put_off_count)
		rc = ERR_AGAIN;
	else
		outage_end(&r->flush_outage);
	batch_begin(f, NULL);
	chunk_writer_free(f->group);
	body_decoder_fini(&f->decoder);
	buf_fini(&f->record);
	buf_fini(&f->next);
	return rc ? err_set(err, rc, "%s", why.msg) : 0;
}
