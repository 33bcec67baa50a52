/* SPDX-License-Identifier: Apache-2.0 */
#include "adhoc/adhoc_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/trusted_clock.h"
#include "base/units.h"
#include "base/vec.h"

enum {
	ADHOC_FILES_MAX = 4096, /* so that their list stays small */
	ADHOC_ROUND = 4096,     /* a file takes whole blocks of this size */
	/* A byte of a text becomes up to 6 in JSON, and each type has its names. */
	ADHOC_META_MAX = 32 * ADHOC_TEXTS_MAX
};

/* How often expired files are looked for. */
#define SWEEP_NS (60 * INT64_C(1000000000))

/* A file, and when it was used last. */
struct stored {
	struct adhoc_entry e; /* owns its texts */
	uint64_t used;        /* a number that grows with each use */
};

typedef VEC(char *) paths;

struct adhoc_metrics {
	struct metric *files;
	struct metric *bytes;
	struct metric *uploads;
	struct metric *expired;
	struct metric *evicted;
};

struct adhoc_store {
	struct adhoc_options o;
	struct adhoc_metrics metrics;
	struct mutex mu;          /* guards what follows, up to `sweeper` */
	pthread_cond_t wake;      /* the store is being closed */
	VEC(struct stored) files; /* the latest last */
	uint64_t bytes;           /* of all, and of what is reserved */
	uint64_t uses;
	bool is_closing;
	struct trusted_clock clock; /* decides what has expired */
	pthread_t sweeper;
};

static const struct metric_row adhoc_rows[] = {
	METRIC_ROW(GAUGE, struct adhoc_metrics, files, "everprof_adhoc_files",
		   "Files that were uploaded to look at, and are there."),
	METRIC_ROW(GAUGE, struct adhoc_metrics, bytes, "everprof_adhoc_bytes",
		   "Room that these files take on disk."),
	METRIC_ROW(COUNTER, struct adhoc_metrics, uploads,
		   "everprof_adhoc_uploads_total",
		   "Files that were uploaded to look at."),
	METRIC_ROW(
		COUNTER, struct adhoc_metrics, expired,
		"everprof_adhoc_removed_total",
		"Uploaded files that were removed, because their time was over or newer ones needed the room.",
		.label = "reason", .value = "expired"),
	METRIC_ROW(
		COUNTER, struct adhoc_metrics, evicted,
		"everprof_adhoc_removed_total",
		"Uploaded files that were removed, because their time was over or newer ones needed the room.",
		.label = "reason", .value = "size"),
};

char *adhoc_store_path(const struct adhoc_store *s, const char *id,
		       const char *name)
{
	return mem_printf("%s/%s%s%s", s->o.dir, id, *name ? "/" : "", name);
}

void adhoc_store_part_name(size_t part, char out[ADHOC_PART_NAME])
{
	snprintf(out, ADHOC_PART_NAME, "%zu.pb.gz", part);
}

uint64_t adhoc_store_room(uint64_t bytes)
{
	return (bytes + ADHOC_ROUND - 1) / ADHOC_ROUND * ADHOC_ROUND;
}

const struct adhoc_options *adhoc_store_options(const struct adhoc_store *s)
{
	return &s->o;
}

/* Show the numbers as metrics. */
static void adhoc_store_show(struct adhoc_store *s) REQUIRES(s->mu);
static void adhoc_store_show(struct adhoc_store *s)
{
	metric_set(s->metrics.files, (int64_t)s->files.count);
	metric_set(s->metrics.bytes, (int64_t)s->bytes);
}

/* Return the index of a file; SIZE_MAX: there is none. */
static size_t adhoc_store_index(struct adhoc_store *s, struct str id)
	REQUIRES(s->mu);
static size_t adhoc_store_index(struct adhoc_store *s, struct str id)
{
	for (size_t i = s->files.count; i--;) {
		if (str_is(id, s->files.v[i].e.id))
			return i;
	}
	return SIZE_MAX;
}

/*
 * Take a file out of the list. Its folder gets a temporary name, which is in `gone`; a
 * crash on the way leaves it there, and the next start removes it.
 */
static int adhoc_store_forget(struct adhoc_store *s, size_t i, paths *gone,
			      struct err *err) REQUIRES(s->mu);
static int adhoc_store_forget(struct adhoc_store *s, size_t i, paths *gone,
			      struct err *err)
{
	struct stored *f = &s->files.v[i];
	char *from = adhoc_store_path(s, f->e.id, "");
	char *to = mem_printf("%s/" ADHOC_TEMPORARY "%s", s->o.dir, f->e.id);
	int rc = fs_rename(s->o.fs, from, to, err);

	mem_free(from);
	/* Somebody else may have removed it. */
	if (rc && rc != ERR_NOTFOUND) {
		mem_free(to);
		return rc;
	}
	*vec_add(gone) = to;
	s->bytes -= f->e.bytes;
	mem_free(f->e.name);
	mem_free(f->e.user);
	vec_remove(&s->files, i, 1);
	adhoc_store_show(s);
	return 0;
}

/* Log that a file cannot be removed, or its time cannot be written. */
static void adhoc_store_complain(const struct adhoc_store *s,
				 const struct err *err)
{
	log_event(s->o.log, LOG_WARN, "an uploaded file cannot be changed",
		  LOG_FIELDS(log_text("error", err->msg)));
}

/* Remove the folders of files that are in the list no more. */
static void adhoc_store_remove_all(struct adhoc_store *s, paths *gone)
{
	struct err err;

	/* If power fails, a folder must not be back without its contents. */
	if (gone->count && fs_sync_dir(s->o.fs, s->o.dir, &err))
		adhoc_store_complain(s, &err);
	for (size_t i = 0; i < gone->count; i++) {
		int rc = fs_remove_dir(s->o.fs, gone->v[i], &err);

		if (rc && rc != ERR_NOTFOUND)
			adhoc_store_complain(s, &err);
		mem_free(gone->v[i]);
	}
	vec_fini(gone);
}

/* Return the file that is removed next for others; SIZE_MAX: all are kept. */
static size_t adhoc_store_victim(struct adhoc_store *s) REQUIRES(s->mu);
static size_t adhoc_store_victim(struct adhoc_store *s)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < s->files.count; i++) {
		const struct stored *f = &s->files.v[i];

		if (!f->e.is_kept &&
		    (found == SIZE_MAX || f->used < s->files.v[found].used))
			found = i;
	}
	return found;
}

/* Whether there would be so much room without the files that nobody keeps. */
static bool adhoc_store_can_hold(struct adhoc_store *s, uint64_t bytes)
	REQUIRES(s->mu);
static bool adhoc_store_can_hold(struct adhoc_store *s, uint64_t bytes)
{
	uint64_t stays = s->bytes;
	size_t count = 0;

	for (size_t i = 0; i < s->files.count; i++) {
		if (s->files.v[i].e.is_kept)
			count++;
		else
			stays -= s->files.v[i].e.bytes;
	}
	return stays + bytes <= (uint64_t)s->o.max_bytes &&
	       count < ADHOC_FILES_MAX;
}

/*
 * Remove files from the list until they are few enough with so many more. ERR_NOSPACE:
 * none more may go; errors of the disk.
 */
static int adhoc_store_evict(struct adhoc_store *s, size_t more, paths *gone,
			     struct err *err) REQUIRES(s->mu);
static int adhoc_store_evict(struct adhoc_store *s, size_t more, paths *gone,
			     struct err *err)
{
	int rc = 0;

	while (!rc && (s->bytes > (uint64_t)s->o.max_bytes ||
		       s->files.count + more > ADHOC_FILES_MAX)) {
		size_t i = adhoc_store_victim(s);

		if (i == SIZE_MAX)
			return err_set(err, ERR_NOSPACE, "all files are kept");
		rc = adhoc_store_forget(s, i, gone, err);
		metric_add(s->metrics.evicted, !rc);
	}
	return rc;
}

/* Remove what has expired. */
static void adhoc_store_sweep(struct adhoc_store *s);

/* ERR_NOSPACE: so many bytes more have no room. */
static int adhoc_store_check_room(struct adhoc_store *s, uint64_t bytes,
				  struct err *err) REQUIRES(s->mu);
static int adhoc_store_check_room(struct adhoc_store *s, uint64_t bytes,
				  struct err *err)
{
	if (adhoc_store_can_hold(s, bytes))
		return 0;
	return err_set(
		err, ERR_NOSPACE,
		"no room for the file: the files that are kept or being uploaded fill --adhoc.size, or too many are kept");
}

int adhoc_store_reserve(struct adhoc_store *s, uint64_t bytes, uint64_t all,
			struct err *err)
{
	int rc;

	if (all > (uint64_t)s->o.max_bytes)
		return err_set(
			err, ERR_TOOBIG,
			"the file alone takes more than --adhoc.size allows for all files together");
	adhoc_store_sweep(s);
	mutex_lock(&s->mu);
	rc = adhoc_store_check_room(s, bytes, err);
	if (!rc)
		s->bytes += bytes;
	adhoc_store_show(s);
	mutex_unlock(&s->mu);
	return rc;
}

int adhoc_store_make_room(struct adhoc_store *s, struct err *err)
{
	paths gone = { 0 };
	int rc;

	mutex_lock(&s->mu);
	rc = adhoc_store_check_room(s, 0, err);
	if (!rc)
		rc = adhoc_store_evict(s, 1, &gone, err);
	mutex_unlock(&s->mu);
	adhoc_store_remove_all(s, &gone);
	return rc;
}

void adhoc_store_release(struct adhoc_store *s, uint64_t bytes)
{
	mutex_lock(&s->mu);
	s->bytes -= bytes;
	adhoc_store_show(s);
	mutex_unlock(&s->mu);
}

/* Add a file to the list; its bytes are counted already. */
static void adhoc_store_list(struct adhoc_store *s, const struct adhoc_meta *m,
			     uint64_t bytes) REQUIRES(s->mu);
static void adhoc_store_list(struct adhoc_store *s, const struct adhoc_meta *m,
			     uint64_t bytes)
{
	struct stored f = { .e = { .name = mem_strndup(m->name),
				   .user = mem_strndup(m->user),
				   .uploaded_ms = m->uploaded_ms,
				   .expires_ms = m->expires_ms,
				   .is_kept = m->is_kept,
				   .bytes = bytes },
			    .used = s->uses++ };

	memcpy(f.e.id, m->id, sizeof(f.e.id));
	*vec_add(&s->files) = f;
	adhoc_store_show(s);
}

void adhoc_store_add(struct adhoc_store *s, const struct adhoc_meta *m,
		     uint64_t bytes)
{
	mutex_lock(&s->mu);
	adhoc_store_list(s, m, bytes);
	metric_add(s->metrics.uploads, 1);
	mutex_unlock(&s->mu);
}

/*
 * Whether a file is shown: one that has expired is not, even if the clock is not trusted
 * yet, so that it is not removed.
 */
static bool adhoc_store_is_shown(const struct adhoc_store *s,
				 const struct stored *f)
{
	return f->e.expires_ms >= clock_ms(s->o.clock);
}

void adhoc_store_each(struct adhoc_store *s,
		      void (*fn)(void *ctx, const struct adhoc_entry *e),
		      void *ctx)
{
	mutex_lock(&s->mu);
	for (size_t i = s->files.count; i--;) {
		if (adhoc_store_is_shown(s, &s->files.v[i]))
			fn(ctx, &s->files.v[i].e);
	}
	mutex_unlock(&s->mu);
}

/* Note that a file is used. Returns whether it is there. */
static bool adhoc_store_use(struct adhoc_store *s, struct str id)
{
	bool is_there;
	size_t i;

	mutex_lock(&s->mu);
	i = adhoc_store_index(s, id);
	is_there = i != SIZE_MAX && adhoc_store_is_shown(s, &s->files.v[i]);
	if (is_there)
		s->files.v[i].used = s->uses++;
	mutex_unlock(&s->mu);
	return is_there;
}

/* Append a whole file to `out`. Errors as of file_open() and file_read_all(). */
static int adhoc_store_slurp(const struct adhoc_store *s, const char *path,
			     struct buf *out, struct err *err)
{
	struct file *f = NULL;
	int rc = file_open(s->o.fs, path, FILE_READ, &f, err);

	if (!rc)
		rc = file_read_all(f, out, err);
	file_close(f);
	return rc;
}

/* Read the file meta.json of a folder. */
static int adhoc_store_load(const struct adhoc_store *s, const char *id,
			    struct arena *arena, struct adhoc_meta *out,
			    struct err *err)
{
	char *path = adhoc_store_path(s, id, "meta.json");
	struct buf text = buf_init(ADHOC_META_MAX);
	int rc = adhoc_store_slurp(s, path, &text, err);

	if (!rc) {
		rc = adhoc_meta_read(buf_bytes(&text), arena, out, err);
		if (!rc && strcmp(out->id, id) != 0)
			rc = err_set(err, ERR_CORRUPT,
				     "it belongs to another uploaded file");
		if (rc)
			(void)err_wrap(err, rc, "%s", path);
	}
	buf_fini(&text);
	mem_free(path);
	return rc;
}

/* Say that there is no such file. */
static int adhoc_store_missing(struct str id, struct err *err)
{
	return err_set(
		err, ERR_NOTFOUND,
		"there is no uploaded file \"%.*s\": it was removed, its time was over, or newer ones needed the room",
		STR_ARG(str_clip(id, 60)));
}

int adhoc_store_find(struct adhoc_store *s, struct str id, struct arena *arena,
		     struct adhoc_meta *out, struct err *err)
{
	char name[ADHOC_ID_LEN + 1];
	int rc;

	if (!adhoc_meta_is_id(id) || !adhoc_store_use(s, id))
		return adhoc_store_missing(id, err);
	snprintf(name, sizeof(name), "%.*s", STR_ARG(id));
	rc = adhoc_store_load(s, name, arena, out, err);
	/* It was removed in this moment. */
	return rc == ERR_NOTFOUND ? adhoc_store_missing(id, err) : rc;
}

/* Find the file and the part that are meant by ID or ID/PART. */
static int adhoc_store_resolve(struct adhoc_store *s, struct str ref,
			       struct arena *arena, struct adhoc_meta *meta,
			       size_t *part, struct err *err)
{
	struct str number;
	struct str id = str_cut(ref, '/', &number);
	int64_t n = 0;
	int rc = adhoc_store_find(s, id, arena, meta, err);

	if (rc)
		return rc;
	if (number.len && (!str_to_i64(number, &n) || n < 0 ||
			   (uint64_t)n >= meta->part_count))
		return err_set(
			err, ERR_INVALID,
			"the uploaded file has no part \"%.*s\": its parts are 0 to %zu",
			STR_ARG(str_clip(number, 60)), meta->part_count - 1);
	*part = (size_t)n;
	return 0;
}

/* Read a profile of `size` bytes that is compressed in a file. */
static int adhoc_store_inflate(const struct adhoc_store *s, const char *path,
			       size_t size, const struct limits *limits,
			       struct buf *out, struct err *err)
{
	struct buf packed;
	uint64_t stored = 0;
	int rc = fs_size(s->o.fs, path, &stored, err);

	if (!rc)
		rc = limits_spend(limits, size + (size_t)stored, err);
	if (rc)
		return rc;
	packed = buf_init((size_t)stored + 1);
	rc = adhoc_store_slurp(s, path, &packed, err);
	*out = buf_init(size ? size : 1);
	if (!rc)
		rc = gzip_decompress_once(buf_bytes(&packed), out, err);
	if (!rc && out->len != size)
		rc = err_set(err, ERR_CORRUPT,
			     "it decompresses to %zu bytes instead of %zu",
			     out->len, size);
	if (rc && rc != ERR_NOTFOUND)
		rc = err_wrap(err, ERR_CORRUPT, "%s", path);
	buf_fini(&packed);
	return rc;
}

int adhoc_store_read(struct adhoc_store *s, struct str ref,
		     const struct limits *limits, struct arena *arena,
		     struct adhoc_profile *out, struct err *err)
{
	char name[ADHOC_PART_NAME];
	char *path;
	int rc;

	*out = (struct adhoc_profile){ .part = 0 };
	rc = adhoc_store_resolve(s, ref, arena, &out->meta, &out->part, err);
	if (rc)
		return rc;
	adhoc_store_part_name(out->part, name);
	path = adhoc_store_path(s, out->meta.id, name);
	rc = adhoc_store_inflate(s, path,
				 (size_t)out->meta.parts[out->part].size,
				 limits, &out->raw, err);
	mem_free(path);
	return rc == ERR_NOTFOUND ? adhoc_store_missing(ref, err) : rc;
}

/* Check that a file is there, and that somebody may change it. */
static int adhoc_store_check_user(struct adhoc_store *s, struct str id,
				  const struct adhoc_user *who, size_t *out,
				  struct err *err) REQUIRES(s->mu);
static int adhoc_store_check_user(struct adhoc_store *s, struct str id,
				  const struct adhoc_user *who, size_t *out,
				  struct err *err)
{
	*out = adhoc_store_index(s, id);
	if (*out == SIZE_MAX || !adhoc_store_is_shown(s, &s->files.v[*out]))
		return adhoc_store_missing(id, err);
	if (who->may_all || str_is(who->name, s->files.v[*out].e.user))
		return 0;
	return err_set(
		err, ERR_DENIED,
		"the file was uploaded by another user: only that user, or one with the scope \"admin\", may keep or remove it");
}

/* Write a changed meta.json in place of the one that is there. */
static int adhoc_store_rewrite(struct adhoc_store *s,
			       const struct adhoc_meta *m, struct err *err)
{
	char *path = adhoc_store_path(s, m->id, "meta.json");
	char *tmp = adhoc_store_path(s, m->id, "meta.json.tmp");
	struct buf text = { 0 };
	struct json j = json_init(&text);
	int rc;

	adhoc_meta_write(m, &j);
	rc = file_replace(s->o.fs, tmp, path, buf_bytes(&text), err);
	if (!rc)
		rc = fs_sync_parent(s->o.fs, path, err);
	buf_fini(&text);
	mem_free(path);
	mem_free(tmp);
	return rc;
}

/* Let a file expire at another time, and be kept or not, durably. */
static int adhoc_store_set(struct adhoc_store *s, struct stored *f,
			   int64_t expires_ms, bool is_kept, struct err *err)
	REQUIRES(s->mu);
static int adhoc_store_set(struct adhoc_store *s, struct stored *f,
			   int64_t expires_ms, bool is_kept, struct err *err)
{
	struct arena arena = { 0 };
	struct adhoc_meta m;
	int rc = adhoc_store_load(s, f->e.id, &arena, &m, err);

	if (!rc) {
		m.expires_ms = expires_ms;
		m.is_kept = is_kept;
		rc = adhoc_store_rewrite(s, &m, err);
	}
	if (!rc) {
		f->e.expires_ms = expires_ms;
		f->e.is_kept = is_kept;
	}
	arena_fini(&arena);
	return rc;
}

int adhoc_store_keep(struct adhoc_store *s, struct str id,
		     const struct adhoc_user *who, int64_t keep_ms,
		     struct err *err)
{
	int64_t until = clock_ms(s->o.clock) + keep_ms;
	size_t i;
	int rc;

	/* Locked while the file is written, so that no other one writes it. */
	mutex_lock(&s->mu);
	rc = adhoc_store_check_user(s, id, who, &i, err);
	if (!rc) {
		struct stored *f = &s->files.v[i];

		if (until < f->e.expires_ms)
			until = f->e.expires_ms;
		rc = adhoc_store_set(s, f, until, true, err);
	}
	mutex_unlock(&s->mu);
	return rc;
}

int adhoc_store_remove(struct adhoc_store *s, struct str id,
		       const struct adhoc_user *who, struct err *err)
{
	paths gone = { 0 };
	size_t i;
	int rc;

	mutex_lock(&s->mu);
	rc = adhoc_store_check_user(s, id, who, &i, err);
	if (!rc)
		rc = adhoc_store_forget(s, i, &gone, err);
	mutex_unlock(&s->mu);
	adhoc_store_remove_all(s, &gone);
	return rc;
}

/* Return when a file expires, at the latest: it may have come when the clock was wrong. */
static int64_t adhoc_store_latest(const struct adhoc_store *s, int64_t now_ms)
{
	return now_ms + (s->o.ttl_ms > ADHOC_KEEP_MAX_MS ? s->o.ttl_ms :
							   ADHOC_KEEP_MAX_MS);
}

static void adhoc_store_sweep(struct adhoc_store *s)
{
	struct trusted_time now;
	paths gone = { 0 };
	struct err err;

	mutex_lock(&s->mu);
	now = trusted_clock_check(&s->clock, s->o.clock, s->o.clock_steady_ms);
	for (size_t i = now.decides ? s->files.count : 0; i--;) {
		struct adhoc_entry *e = &s->files.v[i].e;
		int64_t latest = adhoc_store_latest(s, now.latest_ms);

		if (e->expires_ms > latest) {
			if (adhoc_store_set(s, &s->files.v[i], latest,
					    e->is_kept, &err))
				adhoc_store_complain(s, &err);
			e->expires_ms = latest;
		}
		if (e->expires_ms >= now.earliest_ms)
			continue;
		if (adhoc_store_forget(s, i, &gone, &err))
			adhoc_store_complain(s, &err);
		else
			metric_add(s->metrics.expired, 1);
	}
	mutex_unlock(&s->mu);
	adhoc_store_remove_all(s, &gone);
}

/* The thread that removes what has expired. */
static void *adhoc_store_run(void *arg)
{
	struct adhoc_store *s = arg;

	mutex_lock(&s->mu);
	while (!s->is_closing) {
		struct timespec at;

		mutex_unlock(&s->mu);
		adhoc_store_sweep(s);
		at = clock_mono_at(clock_mono_ns() + SWEEP_NS);
		mutex_lock(&s->mu);
		if (!s->is_closing)
			(void)mutex_wait_until(&s->mu, &s->wake, &at);
	}
	mutex_unlock(&s->mu);
	return NULL;
}

/* Add the room that a file of a folder takes on disk. */
static int adhoc_store_measure_file(const struct adhoc_store *s, const char *id,
				    const char *name, uint64_t *sum,
				    struct err *err)
{
	char *path = adhoc_store_path(s, id, name);
	uint64_t size = 0;
	int rc = fs_size(s->o.fs, path, &size, err);

	*sum += adhoc_store_room(size);
	mem_free(path);
	return rc;
}

/* Return the room that a folder takes on disk. */
static int adhoc_store_measure(const struct adhoc_store *s,
			       const struct adhoc_meta *m, uint64_t *out,
			       struct err *err)
{
	int rc;

	*out = 0;
	rc = adhoc_store_measure_file(s, m->id, "meta.json", out, err);
	for (size_t i = 0; !rc && i < m->part_count; i++) {
		char name[ADHOC_PART_NAME];

		adhoc_store_part_name(i, name);
		rc = adhoc_store_measure_file(s, m->id, name, out, err);
	}
	return rc;
}

/* Take a folder that was found into the list; an error is that of a damaged one. */
static int adhoc_store_take(struct adhoc_store *s, const char *id,
			    struct err *err)
{
	struct arena arena = { 0 };
	struct adhoc_meta m;
	uint64_t bytes = 0;
	int rc = adhoc_store_load(s, id, &arena, &m, err);

	if (!rc)
		rc = adhoc_store_measure(s, &m, &bytes, err);
	if (!rc) {
		mutex_lock(&s->mu);
		s->bytes += bytes;
		adhoc_store_list(s, &m, bytes);
		mutex_unlock(&s->mu);
	}
	arena_fini(&arena);
	return rc;
}

/* qsort() comparison: by the time of the upload. */
static int adhoc_store_compare(const void *a, const void *b)
{
	const struct stored *x = a;
	const struct stored *y = b;

	return (x->e.uploaded_ms > y->e.uploaded_ms) -
	       (x->e.uploaded_ms < y->e.uploaded_ms);
}

/* Put the list in the order of the uploads, which counts as that of the uses. */
static void adhoc_store_sort(struct adhoc_store *s)
{
	mutex_lock(&s->mu);
	if (s->files.count)
		qsort(s->files.v, s->files.count, sizeof(*s->files.v),
		      adhoc_store_compare);
	for (size_t i = 0; i < s->files.count; i++)
		s->files.v[i].used = i;
	mutex_unlock(&s->mu);
}

/* Remove what is too much, if --adhoc.size is smaller than it was. */
static void adhoc_store_shrink(struct adhoc_store *s)
{
	paths gone = { 0 };
	struct err err;
	int rc;

	mutex_lock(&s->mu);
	rc = adhoc_store_evict(s, 0, &gone, &err);
	mutex_unlock(&s->mu);
	if (rc && rc != ERR_NOSPACE)
		adhoc_store_complain(s, &err);
	adhoc_store_remove_all(s, &gone);
}

/* Read the folder. */
static int adhoc_store_scan(struct adhoc_store *s, struct err *err)
{
	struct name_list names = { 0 };
	int rc = fs_list(s->o.fs, s->o.dir, &names, err);

	if (rc)
		return rc == ERR_NOTFOUND ? 0 : rc;
	for (size_t i = 0; i < names.count; i++) {
		struct str name = str_of(names.names[i]);
		struct err why;

		if (str_starts(name, str_of(ADHOC_TEMPORARY))) {
			char *path = adhoc_store_path(s, name.ptr, "");

			if (fs_remove_dir(s->o.fs, path, &why))
				log_event(
					s->o.log, LOG_WARN,
					"the files of an unfinished upload could not be removed",
					LOG_FIELDS(log_text("error", why.msg)));
			mem_free(path);
		} else if (adhoc_meta_is_id(name) &&
			   adhoc_store_take(s, name.ptr, &why)) {
			log_event(
				s->o.log, LOG_WARN,
				"an uploaded file is damaged, and is left alone",
				LOG_FIELDS(log_text("error", why.msg)));
		}
	}
	name_list_fini(&names);
	adhoc_store_sort(s);
	adhoc_store_shrink(s);
	return 0;
}

/* Free everything but the thread. */
static void adhoc_store_free(struct adhoc_store *s)
{
	for (size_t i = 0; i < s->files.count; i++) {
		mem_free(s->files.v[i].e.name);
		mem_free(s->files.v[i].e.user);
	}
	vec_fini(&s->files);
	pthread_cond_destroy(&s->wake);
	mutex_destroy(&s->mu);
	mem_free(s);
}

int adhoc_store_open(const struct adhoc_options *o, struct adhoc_store **out,
		     struct err *err)
{
	struct adhoc_store *s = mem_new(struct adhoc_store);
	int rc;

	s->o = *o;
	mutex_init(&s->mu);
	clock_cond_init(&s->wake);
	metrics_register(o->metrics, adhoc_rows, ARRAY_SIZE(adhoc_rows),
			 &s->metrics);
	rc = adhoc_store_scan(s, err);
	if (rc) {
		adhoc_store_free(s);
		return rc;
	}
	s->sweeper = thread_start("adhoc", adhoc_store_run, s);
	*out = s;
	return 0;
}

void adhoc_store_close(struct adhoc_store *s)
{
	if (!s)
		return;
	mutex_lock(&s->mu);
	s->is_closing = true;
	pthread_cond_signal(&s->wake);
	mutex_unlock(&s->mu);
	pthread_join(s->sweeper, NULL);
	adhoc_store_free(s);
}
