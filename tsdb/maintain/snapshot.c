/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/maintain/snapshot.h"

#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/compact/compactor.h"
#include "tsdb/db/db.h"
#include "tsdb/db/flush_policy.h"
#include "tsdb/db/view.h"
#include "tsdb/db/worker.h"

/* A snapshot that is being made. */
struct snapshot {
	struct tsdb *db;
	/* Environment in which blocks are made in the snapshot's directory. */
	struct block_env env;
	struct limits limits; /* asked before each block, and each series */
};

/* Link a file, or copy it if the file system has no hard links. */
static int link_or_copy(struct snapshot *s, const char *from, const char *to,
			struct err *err)
{
	struct fs *fs = s->db->o.fs;
	struct buf bytes = { 0 };
	struct file *f = NULL;
	int rc = fs_link(fs, from, to, err);

	if (!rc || rc == ERR_NOTFOUND)
		return rc;
	/*
	 * The link failed, so copy the file. If the file is missing, a copy
	 * would fail, too.
	 */
	rc = file_slurp(from, &bytes, err);
	if (!rc)
		rc = file_open(fs, to, FILE_CREATE, &f, err);
	if (!rc)
		rc = file_write(f, 0, buf_bytes(&bytes), err);
	if (!rc)
		rc = file_sync(f, err);
	file_close(f);
	buf_fini(&bytes);
	return rc;
}

/* Link one file of a block into the snapshot's copy of the block. */
static int link_file(struct snapshot *s, const struct block *b, const char *tmp,
		     const char *name, struct err *err)
{
	CLEANUP(mem_freep) char *from = mem_printf("%s/%s", b->path, name);
	CLEANUP(mem_freep) char *to = mem_printf("%s/%s", tmp, name);

	return link_or_copy(s, from, to, err);
}

/* Link all files of a block. The file of tombstones may be missing. */
static int link_files(struct snapshot *s, const struct block *b,
		      const char *tmp, struct err *err)
{
	int rc = link_file(s, b, tmp, "meta.json", err);

	for (size_t i = 0; i < b->meta.file_count && !rc; i++)
		rc = link_file(s, b, tmp, b->meta.files[i].name, err);
	if (!rc) {
		rc = link_file(s, b, tmp, "tombstones", err);
		rc = rc == ERR_NOTFOUND ? 0 : rc;
	}
	return rc;
}

/*
 * Add a block to the snapshot. The new directory gets its final name only when
 * its contents are durable.
 */
static int link_block(struct snapshot *s, const struct block *b,
		      struct err *err)
{
	static const char *const dirs[] = { "", "/chunks", "/values" };
	CLEANUP(mem_freep)
	char *tmp = block_path(&s->env, &b->meta.ulid, BLOCK_TMP_SUFFIX);
	CLEANUP(mem_freep) char *to = block_path(&s->env, &b->meta.ulid, "");
	struct fs *fs = s->db->o.fs;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_SIZE(dirs) && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s%s", tmp, dirs[i]);

		rc = fs_mkdir(fs, path, err);
	}
	if (!rc)
		rc = link_files(s, b, tmp, err);
	for (size_t i = 0; i < ARRAY_SIZE(dirs) && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s%s", tmp, dirs[i]);

		rc = fs_sync_dir(fs, path, err);
	}
	return rc ? rc : fs_rename(fs, tmp, to, err);
}

/*
 * Write the profiles that a head contains now as a block of the snapshot
 * (docs/decisions.md, 25). The head itself stays open.
 */
static int copy_head(struct snapshot *s, struct head *r, struct err *err)
{
	struct part part = { .head = r };
	struct rewrite_loss loss = { 0 };
	struct compaction c = { .env = &s->env,
				.parts = &part,
				.count = 1,
				.ulid = ulid_new(clock_ms(s->db->o.clock)),
				.reencode = true,
				.loss = &loss,
				.damaged = s->db->metrics.damaged,
				.cancel = &s->db->quit,
				.limits = s->limits };
	struct block *b = NULL;
	int rc;

	rc = db_flush_head(s->db, r, err);
	if (!rc)
		rc = compactor_run(&c, &b, err);
	block_unref(b);
	return rc;
}

/*
 * Make an empty wal/ in a snapshot without blocks. Without it, the empty
 * snapshot would not be recognized as a database.
 */
static int snapshot_mark(const struct snapshot *s, struct err *err)
{
	CLEANUP(mem_freep) char *wal = mem_printf("%s/wal", s->env.dir);

	return fs_mkdir(s->db->o.fs, wal, err);
}

/* Add all blocks to the snapshot and, if `ranges` is set, all heads. */
static int snapshot_fill(struct snapshot *s, bool ranges, struct err *err)
{
	size_t count;
	struct part *v = db_parts(s->db, &count);
	size_t added = 0;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		rc = limits_spend(&s->limits, 0, err);
		if (rc)
			break;
		if (v[i].block)
			rc = link_block(s, v[i].block, err);
		else if (ranges)
			rc = copy_head(s, v[i].head, err);
		added += v[i].block || ranges;
	}
	if (!rc && !added)
		rc = snapshot_mark(s, err);
	db_parts_free(v, count);
	return rc;
}

/* Whether the view has all heads and blocks; otherwise an error. */
static int snapshot_check(struct tsdb *db, struct err *err)
{
	size_t count = atomic_load(&db->unread_count);

	if (!count)
		return 0;
	return err_set(
		err, ERR_IO,
		"%zu head blocks or blocks cannot be read (the log says which, and why), so the snapshot would lack them; a running server tries to read them again every five minutes",
		count);
}

/*
 * The snapshot is built under a temporary name and renamed when it is complete.
 * When a database is opened, snapshots with temporary names are removed.
 */
int tsdb_snapshot(struct tsdb *db, const char *name, bool ranges,
		  const struct limits *limits, struct err *err)
{
	CLEANUP(mem_freep) char *parent = mem_printf("%s/snapshots", db->path);
	CLEANUP(mem_freep) char *dir = mem_printf("%s/%s", parent, name);
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", dir);
	struct snapshot s = { .db = db, .env = db->benv };
	int rc;

	s.env.dir = tmp;
	if (limits)
		s.limits = *limits;
	rc = db_begin_job_within(db, limits, err);
	if (rc)
		return rc;
	rc = snapshot_check(db, err);
	if (!rc)
		rc = fs_ensure_dir(db->o.fs, parent, err);
	/*
	 * The directory is made and removed again, to find out before the work
	 * whether the name exists. No other snapshot can take the name
	 * meanwhile, because only one job runs at a time.
	 */
	if (!rc)
		rc = fs_mkdir(db->o.fs, dir, err);
	if (!rc)
		rc = fs_remove_dir(db->o.fs, dir, err);
	if (!rc)
		rc = fs_mkdir(db->o.fs, tmp, err);
	if (!rc) {
		rc = snapshot_fill(&s, ranges, err);
		if (!rc)
			rc = fs_sync_dir(db->o.fs, tmp, err);
		if (!rc)
			rc = fs_rename(db->o.fs, tmp, dir, err);
		if (!rc)
			rc = fs_sync_dir(db->o.fs, parent, err);
		/*
		 * Remove a failed snapshot. If that fails, the next startup
		 * removes it.
		 */
		if (rc)
			/*
			 * The caller receives the error of the snapshot, not the
			 * error of removing it.
			 */
			(void)!fs_remove_dir(db->o.fs, tmp, NULL);
	}
	db_end_job(db);
	return rc;
}
