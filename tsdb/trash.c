/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/trash.h"

#include "base/mem.h"

enum trash_state {
	TRASH_NAMED,   /* still under its name */
	TRASH_RENAMED, /* not durably */
	TRASH_HIDDEN   /* a start will not see it: bytes are left to free */
};

struct trash_dir {
	enum trash_state state;
	char *path;
	char *gone;
	char *parent;
};

void trash_add(struct trash *t, const char *path, const char *suffix)
{
	struct str parent = { .ptr = path,
			      .len = (size_t)(strrchr(path, '/') - path) };

	t->v = mem_grow(t->v, t->count, &t->cap, sizeof(*t->v));
	t->v[t->count++] =
		(struct trash_dir){ .path = mem_strdup(path),
				    .gone = mem_printf("%s%s", path, suffix),
				    .parent = mem_strndup(parent) };
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

static int hide(struct trash *t, struct trash_dir *d, struct err *err)
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

static int hide_all(struct trash *t, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->count && !rc; i++)
		rc = hide(t, &t->v[i], err);
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
