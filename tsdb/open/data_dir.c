/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/open/data_dir.h"

#include <string.h>

#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/block/block_writer.h"
#include "tsdb/db/loading.h"
#include "tsdb/io/trash.h"
#include "tsdb/io/ulid.h"

/*
 * Whether a file of this name marks a directory as a data directory of
 * everprof.
 */
static bool is_ours(const char *name)
{
	static const char *const names[] = { "lock",         "wal",
					     "ranges",       "state",
					     "ballast",      "snapshots",
					     "sample-labels" };
	struct ulid u;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return ulid_parse(str_of(name), &u) || trash_is_aside_name(name) ||
	       loading_ends_with(name, BLOCK_TMP_SUFFIX) ||
	       loading_ends_with(name, BLOCK_DELETE_SUFFIX);
}

/*
 * Whether a file of this name is made by file systems or desktops. A directory
 * that contains only such files counts as empty.
 */
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
	/*
	 * One file that only everprof makes is enough: the other files may be
	 * an operator's notes.
	 */
	if (rc || ours || (or_empty && !foreign))
		return rc;
	return err_set(err, ERR_INVALID,
		       "%s is not an everprof data directory%s", path,
		       foreign ? ": it contains other files" : ": it is empty");
}

bool tsdb_dir_was_used(struct fs *fs, const char *path)
{
	CLEANUP(mem_freep) char *lock = mem_printf("%s/lock", path);
	uint64_t size;

	return !fs_size(fs, lock, &size, NULL);
}

bool tsdb_dir_may_have_heads(struct fs *fs, const char *path)
{
	struct name_list l = { 0 };
	bool may = tsdb_dir_was_used(fs, path);
	/* A directory that is not there has none. */
	int rc = fs_list(fs, path, &l, NULL);

	for (size_t i = 0; i < l.count && !rc; i++)
		may |= !strcmp(l.names[i], "wal") ||
		       !strcmp(l.names[i], "ranges");
	name_list_fini(&l);
	return may;
}
