/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking sources of profiles: files, folders, tars, and data directories of
 * conprof. What cannot be read is reported to the visitor, and the walk goes
 * on.
 */
#include "cmd/tools/source.h"

#include <archive.h>
#include <archive_entry.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "tsdb/tools/conprof.h"

#define DEPTH_MAX 16 /* maximum depth of nested folders */

/*
 * Return the last component of a path that consists of the first *end bytes of
 * `path`. *end is moved to the start of the component, so that the next call
 * returns the one before it.
 */
static struct str source_read_component(const char *path, size_t *end)
{
	size_t last = *end;
	size_t first;

	while (last && path[last - 1] == '/')
		last--;
	first = last;
	while (first && path[first - 1] != '/')
		first--;
	*end = first;
	return (struct str){ .ptr = path + first, .len = last - first };
}

/* Take the time, the type and the job from a path. */
static struct source_item item_of(const char *path)
{
	size_t end = strlen(path);
	struct str rest;
	struct str file = source_read_component(path, &end);
	struct source_item it = { .path = path, .ms = -1 };

	it.type = source_read_component(path, &end);
	it.job = source_read_component(path, &end);
	if (!str_to_i64(str_cut(file, '.', &rest), &it.ms) || it.ms < 0)
		it.ms = -1;
	return it;
}

static bool has_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s);
	size_t k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

/*
 * Whether a file is a tar, judged by its name. libarchive also decompresses
 * gzip'd tars.
 */
static bool is_tar(const char *path)
{
	return has_suffix(path, ".tar") || has_suffix(path, ".tar.gz") ||
	       has_suffix(path, ".tgz");
}

/* Report an error to the visitor; returns 0, so that the walk goes on. */
static int source_pass_over(const struct source_visitor *v,
			    const struct err *err)
{
	v->unreadable(v->ctx, err);
	return 0;
}

/*
 * Visit one file of a tar. Entries that are not named like profiles are
 * skipped. libarchive cannot go back to an earlier entry, so each wanted entry
 * is read into memory at once. Messages name the tar, too.
 */
static int visit_entry(const char *tar, struct archive *a,
		       struct archive_entry *e, const struct source_visitor *v,
		       struct err *err)
{
	const char *path = archive_entry_pathname(e);
	int64_t size = archive_entry_size(e);
	struct source_item it;
	struct buf data = { 0 };
	int rc = 0;

	if (!path || archive_entry_filetype(e) != AE_IFREG)
		return 0;
	it = item_of(path);
	if (it.ms < 0 || !v->wants(v->ctx, it.ms))
		return 0;
	if (size > SOURCE_FILE_MAX) {
		err_set(err, ERR_TOOBIG,
			"%s: %s is too large: %lld bytes, at most %lld are allowed",
			tar, path, (long long)size, (long long)SOURCE_FILE_MAX);
		return source_pass_over(v, err);
	}
	buf_reserve(&data, (size_t)size);
	data.len = (size_t)size;
	it.data = buf_bytes(&data);
	if (archive_read_data(a, data.ptr, data.len) == (la_ssize_t)size) {
		rc = v->visit(v->ctx, &it, err);
	} else {
		err_set(err, ERR_CORRUPT, "%s: %s: %s", tar, path,
			archive_error_string(a) ?: "the archive is truncated");
		rc = source_pass_over(v, err);
	}
	buf_fini(&data);
	return rc;
}

/* Visit the files of a tar. */
static int walk_tar(const char *path, const struct source_visitor *v,
		    struct err *err)
{
	struct archive *a = archive_read_new();
	struct archive_entry *e;
	int rc = 0;
	int next;

	archive_read_support_format_tar(a);
	archive_read_support_filter_gzip(a);
	next = archive_read_open_filename(a, path, 64 * KIB);
	while (!rc && next == ARCHIVE_OK) {
		next = archive_read_next_header(a, &e);
		if (next == ARCHIVE_OK || next == ARCHIVE_WARN) {
			next = ARCHIVE_OK;
			rc = visit_entry(path, a, e, v, err);
		}
	}
	/*
	 * A damaged tar is reported; the entries before the damage have been
	 * visited already.
	 */
	if (!rc && next != ARCHIVE_EOF) {
		err_set(err, ERR_CORRUPT, "%s: %s", path,
			archive_error_string(a));
		rc = source_pass_over(v, err);
	}
	archive_read_free(a);
	return rc;
}

/*
 * Visit one file or tar. A file that was given as the source may have any name;
 * if the name is not a time, wants() gets the time -1 and decides.
 */
static int walk_file(const char *path, const struct source_visitor *v,
		     struct err *err)
{
	struct source_item it = item_of(path);
	struct buf data = buf_init(SOURCE_FILE_MAX);
	int rc;

	if (is_tar(path))
		return walk_tar(path, v, err);
	if (!v->wants(v->ctx, it.ms))
		return 0;
	rc = file_drain(path, &data, err);
	it.data = buf_bytes(&data);
	rc = rc ? source_pass_over(v, err) : v->visit(v->ctx, &it, err);
	buf_fini(&data);
	return rc;
}

static int walk_dir(const char *path, const struct source_visitor *v,
		    unsigned depth, struct err *err);

/*
 * Visit one entry of a folder. lstat() is used so that links to folders are not
 * followed, because they could form a cycle.
 */
static int walk_name(const char *path, const struct source_visitor *v,
		     unsigned depth, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		err_sys(err, "stat %s", path);
		return source_pass_over(v, err);
	}
	if (S_ISDIR(st.st_mode))
		return walk_dir(path, v, depth + 1, err);
	/*
	 * Only regular files are opened: opening a FIFO would wait for a
	 * writer.
	 */
	if (S_ISLNK(st.st_mode) && stat(path, &st) < 0) {
		err_sys(err, "stat %s", path);
		return source_pass_over(v, err);
	}
	if (!S_ISREG(st.st_mode) || (!is_tar(path) && item_of(path).ms < 0))
		return 0;
	return walk_file(path, v, err);
}

/* Visit the entries of a folder in the order of names. */
static int walk_dir(const char *path, const struct source_visitor *v,
		    unsigned depth, struct err *err)
{
	struct name_list l = { 0 };
	int rc =
		depth > DEPTH_MAX ?
			err_set(err, ERR_LIMIT,
				"the folder %s is not read, because it is more than %d folders below the source: give it as a source of its own",
				path, DEPTH_MAX) :
			fs_list(NULL, path, &l, err);

	if (rc)
		return depth ? source_pass_over(v, err) : rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *below = mem_printf("%s/%s", path, l.names[i]);

		rc = walk_name(below, v, depth, err);
	}
	name_list_fini(&l);
	return rc;
}

/*
 * The context of the callbacks that adapt struct conprof_visitor to struct
 * source_visitor.
 */
struct conprof_walk {
	const struct source_visitor *v;
};

static bool conprof_wants(void *ctx, int64_t ms)
{
	const struct conprof_walk *w = ctx;

	return w->v->wants(w->v->ctx, ms);
}

/*
 * Pass a profile to the visitor. conprof stores labels, so nothing is taken
 * from the path.
 */
static int conprof_visit(void *ctx, const char *path, struct labels *labels,
			 int64_t ms, struct bytes value, struct err *err)
{
	const struct conprof_walk *w = ctx;
	struct source_item it = {
		.path = path, .labels = labels, .ms = ms, .data = value
	};

	return w->v->visit(w->v->ctx, &it, err);
}

static void conprof_damaged(void *ctx, const struct err *err)
{
	const struct conprof_walk *w = ctx;

	w->v->unreadable(w->v->ctx, err);
}

/* Visit the profiles of a data directory of conprof. */
static int walk_conprof(const char *path, const struct source_visitor *v,
			struct err *err)
{
	struct conprof_walk w = { .v = v };
	struct conprof_visitor cv = { .wants = conprof_wants,
				      .visit = conprof_visit,
				      .damaged = conprof_damaged,
				      .ctx = &w };

	return conprof_walk(path, &cv, err);
}

int source_walk(const char *path, const struct source_visitor *v,
		struct err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return err_sys(err, "%s", path);
	/*
	 * Directories of conprof must be recognized before other folders: their
	 * files are not named like profiles, so walk_dir() would find nothing.
	 */
	if (S_ISDIR(st.st_mode) && conprof_is_dir(path))
		return walk_conprof(path, v, err);
	return S_ISDIR(st.st_mode) ? walk_dir(path, v, 0, err) :
				     walk_file(path, v, err);
}
