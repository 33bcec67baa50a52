/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A start: what is on disk becomes the view, and what earlier work left
 * behind goes.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "tsdb/block_writer.h"
#include "tsdb/db.h"
#include "tsdb/dirlock.h"
#include "tsdb/tools.h"

/* Blocks. */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s);
	size_t m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* What was being made or removed when the last process ended. */
static int remove_leftover(struct tsdb *db, const char *dir, const char *name,
			   struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", dir, name);

	log_event(db->o.log, LOG_INFO, "removing what was left unfinished",
		  LOG_FIELDS(log_text("directory", path)));
	trash_add_hidden(&db->trash, path);
	return trash_empty(&db->trash, err);
}

/* Out of the way, for a person to look at. */
static int set_aside(struct tsdb *db, const char *path, struct err *err)
{
	db->set_aside++;
	metric_add(db->env.corruptions, 1);
	log_event(db->o.log, LOG_ERROR,
		  "it cannot be read, and is set aside as *" ASIDE_SUFFIX,
		  LOG_FIELDS(log_text("directory", path), log_err(err)));
	return db->o.read_only ? 0 : rename_aside(db->o.fs, path, err);
}

static bool is_named(const char *name, const struct ulid *u)
{
	char text[ULID_TEXT + 1];

	ulid_format(u, text);
	return !strcmp(name, text);
}

/* What the disk does not give back for now is left as it is. */
static int pass_over(struct tsdb *db, const char *path, const struct err *err)
{
	db->set_aside++;
	metric_add(db->env.corruptions, 1);
	log_event(db->o.log, LOG_ERROR,
		  "it cannot be read, and is left out until the next start",
		  LOG_FIELDS(log_text("directory", path), log_err(err)));
	return 0;
}

/* ERR_CORRUPT: also when it is the copy of another block. */
static int open_named(struct tsdb *db, const char *path, const char *name,
		      struct block **out, struct err *err)
{
	struct block *b = NULL;
	int rc = block_open(&db->benv, path, &b, err);

	if (rc)
		return rc;
	/* A copy would take the other with it when it is compacted. */
	if (!is_named(name, &b->meta.ulid)) {
		block_unref(b);
		return err_set(err, ERR_CORRUPT,
			       "%s is the copy of another block", path);
	}
	*out = b;
	return 0;
}

static int load_block(struct tsdb *db, const char *name, struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", db->path, name);
	struct block *b = NULL;
	int rc = open_named(db, path, name, &b, err);

	/* A second look: memory may be wrong, not the disk. */
	if (rc == ERR_CORRUPT)
		rc = open_named(db, path, name, &b, err);
	if (rc == ERR_IO)
		return pass_over(db, path, err);
	if (rc == ERR_CORRUPT)
		return set_aside(db, path, err);
	/* Removed by the server beside us while we listed. */
	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	if (rc == ERR_NOTFOUND) /* a directory without meta.json */
		return set_aside(db, path, err);
	if (!rc)
		db_add_block(db, b);
	return rc;
}

static bool has_parent(const struct block *b, const struct ulid *u)
{
	for (size_t i = 0; i < b->meta.parent_count; i++) {
		if (ulid_eq(&b->meta.parents[i].ulid, u))
			return true;
	}
	return false;
}

static bool is_superseded(const struct tsdb *db, const struct block *b)
{
	for (size_t i = 0; i < db->block_count; i++) {
		if (has_parent(db->blocks[i], &b->meta.ulid))
			return true;
	}
	return false;
}

static int drop_part(struct tsdb *db, struct part p, struct err *err)
{
	if (!db->o.read_only)
		return db_supersede(db, &p, 1, NULL, err);
	db_replace(db, &p, 1, NULL);
	return 0;
}

/* Blocks that a compaction made others of, and could not remove. */
static int drop_superseded(struct tsdb *db, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < db->block_count && !rc;) {
		struct part p = { .block = db->blocks[i] };

		if (!is_superseded(db, p.block)) {
			i++;
			continue;
		}
		rc = drop_part(db, p, err);
	}
	return rc;
}

static int load_blocks(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, db->path, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		struct ulid u;

		if (ends_with(l.names[i], BLOCK_TMP_SUFFIX) ||
		    ends_with(l.names[i], BLOCK_DELETE_SUFFIX))
			rc = db->o.read_only ? 0 :
					       remove_leftover(db, db->path,
							       l.names[i], err);
		else if (ulid_parse(str_of(l.names[i]), &u))
			rc = load_block(db, l.names[i], err);
	}
	name_list_fini(&l);
	return rc ? rc : drop_superseded(db, err);
}

/* Ranges. */

/* Whether a range has become a block. */
static bool is_sealed(const struct tsdb *db, const struct range *r)
{
	for (size_t i = 0; i < db->block_count; i++) {
		const struct meta *m = &db->blocks[i]->meta;

		for (size_t k = 0; k < m->source_count; k++) {
			if (ulid_eq(&m->sources[k], &r->ulid) &&
			    !ulid_eq(&r->ulid, &(struct ulid){ { 0 } }))
				return true;
		}
	}
	return false;
}

/* Ranges that have become blocks, and could not be removed. */
static int drop_sealed(struct tsdb *db, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < db->range_count && !rc;) {
		struct part p = { .range = db->ranges[i] };

		if (!is_sealed(db, p.range)) {
			i++;
			continue;
		}
		rc = drop_part(db, p, err);
	}
	return rc;
}

static int load_range(struct tsdb *db, const char *name, struct err *err)
{
	CLEANUP(mem_freep) char *path = NULL;
	struct range *r = NULL;
	int rc;

	if (ends_with(name, RANGE_DELETE_SUFFIX))
		return db->o.read_only ?
			       0 :
			       remove_leftover(db, db->env.dir, name, err);
	if (strspn(name, "0123456789.abcdef") != strlen(name))
		return 0;
	path = mem_printf("%s/%s", db->env.dir, name);
	rc = range_open(&db->env, name, &r, err);
	if (rc == ERR_CORRUPT) /* a second look, as at a block */
		rc = range_open(&db->env, name, &r, err);
	if (rc == ERR_IO)
		return pass_over(db, path, err);
	if (rc == ERR_CORRUPT)
		return set_aside(db, path, err);
	if (rc) /* one that was never begun has no records */
		return rc == ERR_NOTFOUND ? 0 : rc;
	r->touched_ms = clock_ms(db->o.clock);
	db_add_range(db, r);
	return 0;
}

static int load_ranges(struct tsdb *db, struct err *err)
{
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, db->env.dir, &l, err);

	if (rc == ERR_NOTFOUND && db->o.read_only)
		return 0;
	for (size_t i = 0; i < l.count && !rc; i++)
		rc = load_range(db, l.names[i], err);
	name_list_fini(&l);
	return rc;
}

/* Replay. */

/* The window's range with the greatest opening LSN not above lsn. */
static struct range *find_range(const struct tsdb *db, int64_t start,
				uint64_t lsn)
{
	struct range *found = NULL;

	for (size_t i = 0; i < db->range_count; i++) {
		if (db->ranges[i]->start == start && db->ranges[i]->lsn <= lsn)
			found = db->ranges[i];
	}
	return found;
}

/* The window's range that takes samples; NULL without one. */
static struct range *open_range(const struct tsdb *db, int64_t start)
{
	for (size_t i = db->range_count; i--;) {
		if (db->ranges[i]->start == start && !db->ranges[i]->closed)
			return db->ranges[i];
	}
	return NULL;
}

static int make_range(struct tsdb *db, int64_t start, uint64_t lsn,
		      struct range **out, struct err *err)
{
	struct range *r = NULL;
	int rc = range_create(&db->env, start, lsn, clock_ms(db->o.clock), &r,
			      err);

	if (rc)
		return rc == ERR_EXISTS ? ERR_IO : rc;
	db_add_range(db, r);
	*out = r;
	return 0;
}

struct range *db_open_range(struct tsdb *db, int64_t start)
{
	return open_range(db, start);
}

int db_range_for(struct tsdb *db, int64_t start, uint64_t lsn,
		 struct range **out, struct err *err)
{
	*out = open_range(db, start);
	if (*out)
		return 0;
	if (db->range_count >= RANGES_MAX)
		return err_set(
			err, ERR_LIMIT,
			"%d windows of two hours are open already, and sealing does not keep up",
			RANGES_MAX);
	return make_range(db, start, lsn, out, err);
}

/* For a look at records whose range a start would have to make. */
static struct range *range_in_memory(struct tsdb *db, int64_t start)
{
	struct range *r = range_new(&db->env, "(WAL)");

	r->start = start;
	r->recovery = true;
	db_add_range(db, r);
	return r;
}

/*
 * Whether a block has the profile, or had it and it was deleted. A block whose
 * files are whole does, when it was made of the range that the record was in.
 */
static bool block_accounts_for(struct block *b, const struct labels *ls,
			       const struct segment_entry *e)
{
	const struct meta *m = &b->meta;
	int64_t start = window_start(e->ms);
	struct part_hit hit = { 0 };
	struct err err;
	uint32_t series;
	int rc;

	if (start < m->min_ms || start >= m->max_ms || e->lsn < m->first_lsn ||
	    e->lsn > m->last_lsn)
		return false;
	if (!b->damaged)
		return true;
	rc = index_find(b->index, ls, &series, &err);
	if (!rc)
		rc = block_lookup(b, series, e->ms, &hit, &err);
	if (!rc)
		return block_values(b, hit.group.head.place.file) != NULL;
	return rc == ERR_NOTFOUND;
}

/* Whether a record that no range has may be passed over. */
static bool is_accounted_for(struct tsdb *db, const struct labels *ls,
			     const struct segment_entry *e)
{
	for (size_t i = 0; i < db->block_count; i++) {
		if (block_accounts_for(db->blocks[i], ls, e))
			return true;
	}
	return state_is_retired(&db->state, window_start(e->ms), e->lsn);
}

/*
 * A range for records that no range and no block has, named so that it has
 * them at the next start too. Its name must be free: a range of that name may
 * be there, unreadable for now. (LSNs are multiples of 8.)
 */
static int make_recovery_range(struct tsdb *db, const struct segment_entry *e,
			       struct range **out, struct err *err)
{
	int rc = ERR_EXISTS;

	for (uint64_t k = 1; k < 8 && rc == ERR_EXISTS; k++)
		rc = range_create(&db->env, window_start(e->ms), e->lsn - k,
				  clock_ms(db->o.clock), out, err);
	if (!rc)
		db_add_range(db, *out);
	return rc;
}

/* The range that a record belongs into; NULL: it is stored, or cannot be. */
static struct range *range_of(struct tsdb *db, const struct labels *ls,
			      const struct segment_entry *e)
{
	struct range *r = find_range(db, window_start(e->ms), e->lsn);
	struct err err;

	if (r || is_accounted_for(db, ls, e))
		return r;
	/* Beside a running server: the range may have come after our look. */
	if (db->o.read_only)
		return range_in_memory(db, window_start(e->ms));
	if (make_recovery_range(db, e, &r, &err)) {
		metric_add(db->env.corruptions, 1);
		log_event(db->o.log, LOG_ERROR,
			  "a WAL record has no range: its segment is kept",
			  LOG_FIELDS(log_err(&err)));
		if (e->lsn < db->unplaced)
			db->unplaced = e->lsn;
		return NULL;
	}
	r->recovery = true;
	return r;
}

struct pending db_pending(const struct segment_entry *e)
{
	return (struct pending){ .ms = e->ms,
				 .lsn = e->lsn,
				 .hash = e->hash,
				 .raw_len = e->raw_len,
				 .len = e->len };
}

/* False: the range has it. */
static bool replay_into(struct tsdb *db, struct range *r, struct labels *labels,
			const struct segment_entry *e)
{
	uint32_t series = range_find(r, labels);
	struct pending p = db_pending(e);
	struct part_hit hit = { 0 };

	if (series != SERIES_NONE &&
	    (range_is_done_with(r, series, e->ms, e->lsn) ||
	     !range_lookup(r, series, e->ms, NULL, &hit, NULL)))
		return false;
	range_insert(r, labels, &p, clock_ms(db->o.clock));
	return true;
}

static void replay_entry(void *ctx, const struct segment_entry *e)
{
	struct tsdb *db = ctx;
	struct labels *labels = NULL;
	struct range *r;

	if (e->ms < 0 || labels_decode(e->labels, &labels, NULL)) {
		metric_add(db->env.corruptions, 1);
		return;
	}
	r = range_of(db, labels, e);
	/* A range of recovered records takes those alone. */
	if (r && r->recovery && is_accounted_for(db, labels, e))
		r = NULL;
	if (r && replay_into(db, r, labels, e) && r->recovery)
		db->recovered++;
	labels_unref(labels);
}

/* No LSN is given out twice: the WAL goes on behind all that is stored. */
static uint64_t highest_segment(const struct tsdb *db)
{
	uint64_t highest = 0;

	for (size_t i = 0; i < db->range_count; i++) {
		uint64_t n = range_highest_lsn(db->ranges[i]) >> 32;

		highest = n > highest ? n : highest;
	}
	for (size_t i = 0; i < db->block_count; i++) {
		uint64_t n = db->blocks[i]->meta.last_lsn >> 32;

		highest = n > highest ? n : highest;
	}
	return highest;
}

/*
 * Of several generations of a window the last one takes samples. (An earlier
 * one was to be sealed when the last process ended.)
 */
static void close_generations(struct tsdb *db)
{
	for (size_t i = 1; i < db->range_count; i++) {
		if (db->ranges[i - 1]->start == db->ranges[i]->start)
			db->ranges[i - 1]->closed = true;
	}
}

static void tell_recovered(struct tsdb *db)
{
	/* Beside a running server ranges come after our look. */
	if (db->o.read_only && dirlock_is_held(db->path))
		db->recovered = 0;
	if (!db->recovered)
		return;
	metric_add(db->metrics.recovered, (int64_t)db->recovered);
	log_event(
		db->o.log, LOG_WARN,
		db->o.read_only ?
			"profiles are in the WAL alone: a range or a block that had them is not there" :
			"profiles were taken back from the WAL: a range or a block that had them is not there",
		LOG_FIELDS(log_int("profiles", (int64_t)db->recovered)));
}

/*
 * Where the retention clock begins that was never saved: with the data, before
 * anything is added that a wrong clock may have dated.
 */
static int begin_clock(struct tsdb *db, struct err *err)
{
	int64_t now = clock_ms(db->o.clock);
	int64_t newest = INT64_MIN;
	size_t count;
	struct part *v;

	if (db->state.has_clock)
		return 0;
	v = db_parts(db, &count);
	for (size_t i = 0; i < count; i++) {
		if (part_max(v[i]) > newest)
			newest = part_max(v[i]);
	}
	db_parts_free(v, count);
	/* An import of old profiles says nothing about the clock. */
	if (newest == INT64_MIN || newest > now || db->o.ignore_retention)
		newest = now;
	db->state.clock.trusted_ms = newest;
	db->state.has_clock = true;
	return state_save(&db->state, err);
}

static void load_state(struct tsdb *db)
{
	struct err err;

	if (!state_load(&db->state, &err))
		return;
	metric_add(db->env.corruptions, 1);
	log_event(
		db->o.log, LOG_ERROR,
		"the state file cannot be read: profiles that were deleted may come back from the WAL",
		LOG_FIELDS(log_err(&err)));
}

/* Snapshots that were being made. */
static void clean_snapshots(struct tsdb *db)
{
	CLEANUP(mem_freep) char *dir = mem_printf("%s/snapshots", db->path);
	struct name_list l = { 0 };

	if (fs_list(db->o.fs, dir, &l, NULL))
		return; /* there are none */
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir, l.names[i]);

		if (ends_with(path, ".tmp"))
			trash_add_hidden(&db->trash, path);
	}
	name_list_fini(&l);
}

uint64_t db_segment_size(const struct tsdb *db)
{
	uint64_t size = db->budget / 8;

	if (db->o.wal_segment)
		return (uint64_t)db->o.wal_segment;
	if (size < MIB)
		return MIB;
	return size > 64 * MIB ? 64 * MIB : size;
}

/* The directory that holds path; the caller frees it. */
static char *parent_of(const char *path)
{
	size_t n = strlen(path);

	while (n && path[n - 1] == '/')
		n--;
	while (n && path[n - 1] != '/')
		n--;
	if (!n)
		return mem_strdup(".");
	while (n > 1 && path[n - 1] == '/')
		n--;
	return mem_strndup((struct str){ .ptr = path, .len = n });
}

/* Make a directory that is durable in the one that holds it. */
static int make_dir(struct tsdb *db, const char *path, struct err *err)
{
	CLEANUP(mem_freep) char *parent = parent_of(path);
	int rc = fs_mkdir(db->o.fs, path, err);

	/* Also when it is there: its maker may have died before the sync. */
	return rc && rc != ERR_EXISTS ? rc : fs_sync_dir(db->o.fs, parent, err);
}

static bool is_ours(const char *name)
{
	static const char *const names[] = { "lock",  "wal",     "ranges",
					     "state", "ballast", "snapshots" };
	struct ulid u;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return ulid_parse(str_of(name), &u) || ends_with(name, ASIDE_SUFFIX) ||
	       ends_with(name, BLOCK_TMP_SUFFIX) ||
	       ends_with(name, BLOCK_DELETE_SUFFIX);
}

/* What a new file system, or a desktop, puts into each directory. */
static bool is_nobodys(const char *name)
{
	return name[0] == '.' || !strcmp(name, "lost+found");
}

int tsdb_check_dir(struct fs *fs, const char *path, bool or_empty,
		   struct err *err)
{
	struct name_list l = { 0 };
	bool ours = false;
	bool foreign = false;
	int rc = fs_list(fs, path, &l, err);

	for (size_t i = 0; i < l.count; i++) {
		ours = ours || is_ours(l.names[i]);
		foreign = foreign || !is_nobodys(l.names[i]);
	}
	name_list_fini(&l);
	if (rc || ours || (or_empty && !foreign))
		return rc;
	return err_set(err, ERR_INVALID,
		       "%s is no data directory of everprof%s", path,
		       foreign ? ", and not empty" : ": it is empty");
}

static int check_dir(const struct tsdb *db, struct err *err)
{
	bool may_be_new = !db->o.read_only && !db->o.must_exist;
	int rc = tsdb_check_dir(db->o.fs, db->path, may_be_new, err);

	return rc == ERR_NOTFOUND && may_be_new ? 0 : rc;
}

int db_load(struct tsdb *db, struct err *err)
{
	CLEANUP(mem_freep) char *wal_dir = mem_printf("%s/wal", db->path);
	struct wal_options wo = { .fs = db->o.fs,
				  .dir = wal_dir,
				  .segment_size = db_segment_size(db),
				  .read_only = db->o.read_only,
				  .log = db->o.log,
				  .metrics = db->o.metrics,
				  .torn = db->metrics.torn };
	int rc = check_dir(db, err);

	if (!rc && !db->o.read_only) {
		rc = make_dir(db, db->path, err);
		if (!rc)
			rc = dirlock_take(db->path, &db->lock, err);
		if (!rc)
			rc = make_dir(db, db->env.dir, err);
	}
	if (!rc)
		load_state(db);
	/*
	 * From what profiles leave to what they go to: beside a running
	 * server, one that moves meanwhile is seen in both, not in none.
	 */
	if (!rc)
		rc = wal_open(&wo, &db->wal, err);
	if (!rc && !db->o.read_only)
		rc = fs_sync_dir(db->o.fs, db->path, err);
	if (!rc)
		rc = load_ranges(db, err);
	if (!rc)
		rc = load_blocks(db, err);
	if (!rc)
		rc = drop_sealed(db, err);
	if (!rc)
		close_generations(db);
	if (!rc)
		rc = wal_replay(db->wal, highest_segment(db), replay_entry, db,
				err);
	if (!rc)
		tell_recovered(db);
	if (rc || db->o.read_only)
		return rc;
	close_generations(db); /* a recovered one may be an earlier one */
	clean_snapshots(db);
	if (begin_clock(db, err))
		log_event(db->o.log, LOG_WARN,
			  "the retention clock could not be saved",
			  LOG_FIELDS(log_err(err)));
	return trash_empty(&db->trash, err);
}
