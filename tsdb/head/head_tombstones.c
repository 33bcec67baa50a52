/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tombstone intervals of the series of a head, and the file that keeps them
 * (docs/format/head-block.md).
 */
#include "tsdb/head/head_tombstones.h"

#include <stdio.h>
#include <sys/random.h>

#include "base/dec.h"
#include "base/enc.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "tsdb/head/head.h"
#include "tsdb/io/record.h"
#include "tsdb/io/record_file.h"

#define BYTES_MAX (1024 * MIB)
/* An offset behind the end of each log of a head block. */
#define HEAD_LOG_MAX ((uint64_t)INT64_MAX)

/* Path of the file of tombstones; the caller frees it. */
static char *file_name(const struct head *r, const char *suffix)
{
	return mem_printf("%s/tombstones%s", r->path, suffix);
}

/*
 * Encode one series: its labels, then its tombstone intervals. Labels identify
 * the series, because it may have no number in the log yet.
 */
static void encode_series(const struct series *s, struct buf *out)
{
	enc_str(out, str_from(labels_bytes(s->labels)));
	enc_uvarint(out, s->gap_count);
	for (uint32_t i = 0; i < s->gap_count; i++) {
		enc_svarint(out, s->gaps[i].from);
		enc_svarint(out, s->gaps[i].to);
		enc_uvarint(out, s->gaps[i].lsn);
		enc_uvarint(out, s->gaps[i].at);
	}
}

/* Encode the whole file: a header and one record. The caller holds the lock. */
static void encode_locked(const struct head *r, struct buf *out) REQUIRES(r->mu)
{
	struct buf body = { 0 };
	struct record rec = { .position = FILE_HEADER,
			      .kind = HEAD_TOMBSTONES };
	struct file_header h = { .magic = MAGIC_TOMBSTONES,
				 .number = (uint64_t)r->start };

	for (uint32_t i = 0; i < r->index.series; i++) {
		if (r->series[i]->gap_count)
			encode_series(r->series[i], &body);
	}
	/*
	 * The file has the salt of the head's log. Checksums include the salt,
	 * so that a file of another head is not accepted.
	 */
	h.salt = r->salt;
	file_header_encode(&h, out);
	rec.body = buf_bytes(&body);
	record_encode(&rec, h.salt, out);
	buf_fini(&body);
}

/*
 * Replace the file by a rename, so that either the old or the new file is there
 * after a crash.
 */
static int head_write_file(struct head *r, struct err *err)
{
	CLEANUP(mem_freep) char *path = file_name(r, "");
	CLEANUP(mem_freep) char *tmp = file_name(r, ".tmp");
	struct buf bytes = buf_init(BYTES_MAX);
	int rc = 0;

	mutex_lock(&r->mu);
	encode_locked(r, &bytes);
	mutex_unlock(&r->mu);
	if (bytes.over)
		rc = err_set(err, ERR_TOOBIG,
			     "the head block has too many deletions");
	if (!rc)
		rc = file_replace(r->env->fs, tmp, path, buf_bytes(&bytes),
				  err);
	if (!rc)
		rc = fs_sync_dir(r->env->fs, r->path, err);
	buf_fini(&bytes);
	return rc;
}

/*
 * Add an interval to a series and drop the unflushed profiles in it
 * (docs/decisions.md, 23). The caller holds the lock.
 */
static void add_gap_locked(struct head *r, uint32_t series,
			   const struct tombstone_interval *g) REQUIRES(r->mu)
{
	struct series *s = r->series[series];
	uint32_t before = s->unflushed_count;

	series_add_gap(s, g);
	head_recount_locked(r, s, before);
}

/* Read the intervals of one series. False: the file is damaged. */
static bool load_series(struct head *r, struct dec *d)
{
	struct str encoded = dec_str(d);
	uint64_t count = dec_count(d, dec_left(d));
	struct labels *ls = NULL;
	uint32_t n;

	if (d->bad || labels_decode(bytes_of(encoded), &ls, NULL))
		return false;
	mutex_lock(&r->mu);
	n = head_ensure_locked(r, ls);
	for (uint64_t i = 0; i < count && !d->bad; i++) {
		struct tombstone_interval g = { .from = dec_svarint(d) };

		g.to = dec_svarint(d);
		g.lsn = dec_uvarint(d);
		g.at = dec_uvarint(d);
		/*
		 * The interval hides chunks whose metadata is before offset
		 * g.at of the log. If the log was truncated after the deletion,
		 * its end may now be before g.at, and chunks written later must
		 * not be hidden. To a log that is read in part, none are
		 * written.
		 */
		if (g.at > r->groups_end && !r->unreadable)
			g.at = r->groups_end;
		if (!d->bad)
			add_gap_locked(r, n, &g);
	}
	mutex_unlock(&r->mu);
	labels_unref(ls);
	return !d->bad;
}

/* Take the intervals of all series. Those before the damage are kept. */
static int head_take_tombstones(struct head *r, struct bytes body,
				struct err *err)
{
	struct dec d = dec_init(body);
	int rc = 0;

	while (!rc && dec_left(&d)) {
		if (!load_series(r, &d))
			rc = err_set(err, ERR_CORRUPT,
				     "the tombstones are damaged");
	}
	return rc;
}

/* Read the file, if there is one. */
static int head_read_tombstones(struct head *r, struct err *err)
{
	CLEANUP(mem_freep) char *path = file_name(r, "");
	struct buf bytes = buf_init(BYTES_MAX);
	struct bytes body = { 0 };
	int rc = record_file_read(r->env->fs, path, MAGIC_TOMBSTONES, &bytes,
				  &body, err);

	r->tombstones_unread = rc == ERR_IO;
	if (!rc && head_take_tombstones(r, body, err))
		rc = err_wrap(err, ERR_CORRUPT, "%s", path);
	buf_fini(&bytes);
	return rc == ERR_NOTFOUND ? 0 : rc;
}

void head_load_tombstones(struct head *r)
{
	struct err err;

	if (!head_read_tombstones(r, &err))
		return;
	/*
	 * Deleted profiles come back, which is better than losing profiles that
	 * were not deleted.
	 */
	metric_add(r->env->corruptions, 1);
	log_event(
		r->env->log, LOG_ERROR,
		"cannot read the tombstones of a head block; its deleted profiles are visible again",
		LOG_FIELDS(log_err(&err)));
}

int head_reread_tombstones(struct head *r, struct err *err)
{
	/* Damage has been told, or is told at the next start. */
	if (!r->tombstones_unread || head_read_tombstones(r, err) != ERR_IO)
		return 0;
	return ERR_IO;
}

int head_delete(struct head *r, const struct postings *series, int64_t from,
		int64_t to, uint64_t lsn, struct err *err)
{
	struct tombstone_interval g = {
		.from = from,
		.to = to,
		.lsn = lsn,
		/* Behind what is read in part, more may be read later. */
		.at = r->unreadable ? HEAD_LOG_MAX : r->groups_end,
	};
	int rc = head_reread_tombstones(r, err);

	if (rc)
		return err_wrap(
			err, rc,
			"no profile of the head block can be deleted, because the disk cannot read its earlier deletions");
	mutex_lock(&r->mu);
	for (size_t i = 0; i < series->count; i++)
		add_gap_locked(r, series->v[i], &g);
	mutex_unlock(&r->mu);
	/*
	 * If the write fails, the profiles stay hidden until the database is
	 * opened again, and then come back. The caller learns this from the
	 * error.
	 */
	rc = head_write_file(r, err);
	return rc ? err_wrap(
			    err, rc,
			    "the deletion in head block %s is not saved: repeat it, or the profiles come back at the next start",
			    r->path) :
		    0;
}
