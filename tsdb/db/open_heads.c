/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/db/open_heads.h"

#include "base/mem.h"
#include "tsdb/db/view.h"

struct range *find_range(const struct tsdb *db, int64_t start, uint64_t lsn)
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

struct range *range_in_memory(struct tsdb *db, int64_t start)
{
	struct range *r = range_new(&db->env, "(WAL)");

	r->start = start;
	r->recovery = true;
	db_add_range(db, r);
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
