/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readmission: takes back what the disk could not read. Heads and blocks that it
 * could not read at startup are opened. What was set aside (*.unread) is taken
 * once the disk reads all of it: the profiles of a WAL segment are appended
 * again, and a head block or block becomes a new block; profiles that are stored
 * already are not stored twice. Only then are the files removed.
 *
 * A profile that was deleted after its file had been set aside comes back.
 */
#include "tsdb/maintain/maintenance.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "model/types.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/compact/compactor.h"
#include "tsdb/db/append.h"
#include "tsdb/db/loading.h"
#include "tsdb/db/view.h"
#include "tsdb/head/head_open.h"
#include "tsdb/head/window.h"
#include "tsdb/wal/wal_aside.h"
#include "tsdb/wal/wal_unread.h"

#define INTERVAL_NS (5 * CLOCK_MINUTE_NS)

/* What is taken back from one directory. */
struct readmission {
	struct tsdb *db;
	const char *path;
	bool damaged; /* some bytes are wrong, and not only unread */
};

/*
 * Append a profile of a WAL segment again. One that was removed on purpose is
 * only sent.
 */
static int readmit_profile(void *ctx, const struct segment_profile *p,
			   bool partial, struct err *err)
{
	struct tsdb *db = ctx;
	int64_t totals[TYPES_MAX];
	struct sample s = segment_profile_sample(p, totals);
	int rc;

	rc = labels_decode(p->entry.labels, &s.labels, err);
	if (rc)
		return rc;
	if (!state_is_retired(&db->state, window_start(s.ms), p->entry.lsn))
		rc = db_append_again(db, &s, !partial, err);
	else if (!partial)
		rc = db_resend(db, &s, err);
	labels_unref(s.labels);
	return rc;
}

/* Make a new block of a part that can be read again, and add it to the view. */
static int readmit_part(struct readmission *m, struct part part,
			struct err *err) REQUIRES(m->db->job_mu)
{
	struct tsdb *db = m->db;
	struct rewrite_loss loss = { 0 };
	struct compaction c = { .env = &db->benv,
				.parts = &part,
				.count = 1,
				.ulid = ulid_new(clock_ms(db->o.clock)),
				.reencode = true,
				.loss = &loss,
				.damaged = db->metrics.damaged };
	struct block *b = NULL;
	int rc = compactor_run(&c, &b, err);

	if (rc)
		return rc;
	m->damaged = loss.profiles > 0;
	if (b)
		db_replace(db, NULL, 0, b);
	if (m->damaged)
		return trash_rename_aside(db->o.fs, m->path, ASIDE_DAMAGED,
					  err);
	trash_add(&db->trash, m->path,
		  part.head ? HEAD_DELETE_SUFFIX : BLOCK_DELETE_SUFFIX);
	return 0;
}

static int readmit_head(struct readmission *m, struct err *err)
	REQUIRES(m->db->job_mu)
{
	struct head *r = NULL;
	int rc = head_open(&m->db->env, strrchr(m->path, '/') + 1, &r, err);

	if (!rc && part_is_unread((struct part){ .head = r }))
		rc = err_set(err, ERR_IO,
			     "the disk still cannot read all of %s", m->path);
	if (!rc)
		rc = readmit_part(m, (struct part){ .head = r }, err);
	head_unref(r);
	return rc;
}

static int readmit_block(struct readmission *m, struct err *err)
	REQUIRES(m->db->job_mu)
{
	struct block *b = NULL;
	int rc = block_open(&m->db->benv, m->path, &b, err);

	if (!rc && part_is_unread((struct part){ .block = b }))
		rc = err_set(err, ERR_IO,
			     "the disk still cannot read all of %s", m->path);
	if (!rc)
		rc = readmit_part(m, (struct part){ .block = b }, err);
	block_unref(b);
	return rc;
}

/* A folder in which something may be set aside, and how it is taken back. */
struct readmission_place {
	const char *folder;
	int (*readmit)(struct readmission *m, struct err *err);
};

/* Try everything in one folder. Returns the first error that is no ERR_IO. */
static int readmit_folder(struct tsdb *db, const struct readmission_place *p,
			  struct err *err)
{
	CLEANUP(mem_freep) char *dir = mem_printf("%s%s", db->path, p->folder);
	struct name_list l = { 0 };
	int rc = fs_list(db->o.fs, dir, &l, err);

	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir, l.names[i]);
		struct readmission m = { .db = db, .path = path };

		/* The file `state` was replaced; only an operator can decide. */
		if (!wal_aside_is_unread(l.names[i]) ||
		    !strncmp(l.names[i], "state", 5))
			continue;
		rc = p->readmit(&m, err);
		if (rc == ERR_CORRUPT)
			rc = loading_set_aside(db, dir, l.names[i], err);
		else
			wal_unread_report(db->o.log, path, rc, err);
		if (wal_unread_is_of_one(rc))
			rc = 0;
	}
	name_list_fini(&l);
	return rc == ERR_NOTFOUND ? 0 : rc;
}

int readmission_next(struct tsdb *db, bool all, struct err *err)
{
	static const struct readmission_place places[] = {
		{ "/ranges", readmit_head },
		{ "", readmit_block },
	};
	const struct wal_unread_taker taker = { .profile = readmit_profile,
						.ctx = db,
						.quit = &db->quit };
	int rc = 0;

	if (!all && db->readmitted_ns &&
	    clock_mono_ns() - db->readmitted_ns < INTERVAL_NS)
		return 0;
	rc = loading_retry(db, err);
	if (!rc)
		rc = wal_unread_take_all(db->wal, &taker, err);
	for (size_t i = 0; i < ARRAY_SIZE(places) && !rc; i++)
		rc = readmit_folder(db, &places[i], err);
	/* What waits for room in heads is tried again when some are sealed. */
	if (rc != ERR_LIMIT)
		db->readmitted_ns = clock_mono_ns();
	return rc;
}
