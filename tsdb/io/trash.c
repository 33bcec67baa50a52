/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/trash.h"

#include "base/fs.h"
#include "base/mem.h"

#define ASIDE_MAX 1000 /* maximum number of new names tried for a path */

/* Progress of the removal of a directory. */
enum trash_state {
	TRASH_NAMED,   /* not yet renamed */
	TRASH_RENAMED, /* renamed, but the rename may not be durable */
	/* Renamed durably; only its files remain to be removed. */
	TRASH_HIDDEN
};

/*
 * A directory to be removed: `path` is its original name, `gone` its name after
 * the rename.
 */
struct trash_dir {
	enum trash_state state;
	char *path;
	char *gone;
	char *parent;
};

/* Directory part of a path, which must contain a slash; caller frees. */
static char *trash_parent_of(const char *path)
{
	return mem_strndup((struct str){
		.ptr = path, .len = (size_t)(strrchr(path, '/') - path) });
}

void trash_add(struct trash *t, const char *path, const char *suffix)
{
	t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
	t->v[t->count++] =
		(struct trash_dir){ .path = mem_strdup(path),
				    .gone = mem_printf("%s%s", path, suffix),
				    .parent = trash_parent_of(path) };
}

static void dir_fini(struct trash_dir *d)
{
	mem_free(d->path);
	mem_free(d->gone);
	mem_free(d->parent);
}

void trash_add_hidden(struct trash *t, const char *path)
{
	trash_add(t, path, "");
	t->v[t->count - 1].state = TRASH_HIDDEN;
}

/*
 * Bring a directory to the state TRASH_HIDDEN. Each step is recorded in
 * d->state, so that a retry after a failed fsync does not rename again. A
 * directory that is missing counts as renamed.
 */
static int trash_hide(struct trash *t, struct trash_dir *d, struct err *err)
{
	int rc = 0;

	if (d->state == TRASH_NAMED)
		rc = fs_rename(t->fs, d->path, d->gone, err);
	if (rc && rc != ERR_NOTFOUND)
		return rc;
	if (d->state == TRASH_NAMED)
		d->state = TRASH_RENAMED;
	rc = d->state == TRASH_RENAMED ? fs_sync_dir(t->fs, d->parent, err) : 0;
	if (!rc)
		d->state = TRASH_HIDDEN;
	return rc;
}

/*
 * Hide (rename durably) all directories before any files are removed: after a
 * power cut, the next startup must not find some of the directories under their
 * old names.
 */
static int hide_all(struct trash *t, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++)
		rc = trash_hide(t, &t->v[i], err);
	return rc;
}

int trash_empty(struct trash *t, struct err *err)
{
	size_t kept = 0;
	int rc = hide_all(t, err);

	for (size_t i = 0; i < t->count && !rc; i++) {
		int failed = fs_remove_dir(t->fs, t->v[i].gone, NULL);

		if (failed && failed != ERR_NOTFOUND)
			t->v[kept++] = t->v[i];
		else
			dir_fini(&t->v[i]);
	}
	if (!rc)
		t->count = kept;
	return rc;
}

void trash_fini(struct trash *t)
{
	for (size_t i = 0; i < t->count; i++)
		dir_fini(&t->v[i]);
	mem_free(t->v);
	*t = (struct trash){ 0 };
}

int trash_rename_aside(struct fs *fs, const char *path, const char *suffix,
		       struct err *err)
{
	CLEANUP(mem_freep) char *parent = trash_parent_of(path);
	int rc = ERR_EXISTS;

	for (int i = 1; i < ASIDE_MAX && rc == ERR_EXISTS; i++) {
		CLEANUP(mem_freep)
		char *to = i == 1 ? mem_printf("%s%s", path, suffix) :
				    mem_printf("%s%s-%d", path, suffix, i);

		/*
		 * Only a name that is certainly free is used: rename would
		 * replace a file that was set aside earlier.
		 */
		rc = fs_size(fs, to, &(uint64_t){ 0 }, err);
		rc = rc ? rc : ERR_EXISTS;
		if (rc == ERR_NOTFOUND)
			rc = fs_rename(fs, path, to, err);
	}
	if (rc == ERR_EXISTS)
		return err_set(
			err, rc,
			"cannot rename %s to %s%s: this name and all names up to %s%s-%d exist; move or remove old ones",
			path, path, suffix, path, suffix, ASIDE_MAX - 1);
	return rc ? rc : fs_sync_dir(fs, parent, err);
}

bool trash_is_aside_name(const char *name)
{
	return strstr(name, ASIDE_DAMAGED) || strstr(name, ASIDE_UNREAD);
}
