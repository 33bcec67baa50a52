/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a data directory for one command. */
#include "cmd/cli/database.h"

#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "cmd/cli/cmd.h"
#include "pprof/columns/columns.h"

/* Whether a directory has files. If the disk does not answer, there may be some. */
static bool database_has_files(const char *path, const char *dir)
{
	CLEANUP(mem_freep) char *where = mem_printf("%s/%s", path, dir);
	struct name_list l = { 0 };
	int rc = fs_list(NULL, where, &l, NULL);
	bool any = l.count > 0 || (rc && rc != ERR_NOTFOUND);

	name_list_fini(&l);
	return any;
}

bool database_has_receivers(const char *path)
{
	/* Cursors may have been removed; a server then needs what is held. */
	return database_has_files(path, DATABASE_REMOTE) ||
	       database_has_files(path, "wal/held");
}

int database_open(struct database *d, const char *path, bool read_only,
		  struct err *err)
{
	struct tsdb_options options = { .columns = &codec_columns,
					.path = path,
					.log = &d->log,
					.metrics = metrics_new(),
					.maintain_ms = -1,
					.ignore_retention = true,
					/* A person waits for the result. */
					.outage_ms = -1,
					.must_exist = true,
					.read_only = read_only,
					.hold_wal =
						database_has_receivers(path) };
	int rc = read_only ? 0 : cmd_check_owner(path, err);

	*d = (struct database){ .log = { .fd = STDERR_FILENO,
					 .level = LOG_WARN },
				.metrics = options.metrics };
	return rc ? rc : tsdb_open(&options, &d->db, err);
}

void database_close(struct database *d)
{
	tsdb_close(d->db);
	metrics_free(d->metrics);
}
