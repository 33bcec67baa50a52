/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/file_private.h"
#include "base/mem.h"

/*
 * Every function that changes names follows one pattern: describe the call, ask
 * the hook of struct fs, make the call unless the hook refused, report the
 * result.
 */
int fs_rename(struct fs *fs, const char *from, const char *to, struct err *err)
{
	struct fs_call call = {
		.op = FS_RENAME, .path = from, .to = to, .fd = -1
	};
	int rc = fs_call_before(fs, &call);

	return fs_call_done(fs, &call, rc ? rc : rename(from, to), err);
}

/* Hard links let a new block use the values files of older blocks. */
int fs_link(struct fs *fs, const char *from, const char *to, struct err *err)
{
	struct fs_call call = {
		.op = FS_LINK, .path = from, .to = to, .fd = -1
	};
	int rc = fs_call_before(fs, &call);

	return fs_call_done(fs, &call, rc ? rc : link(from, to), err);
}

int fs_unlink(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_UNLINK, .path = path, .fd = -1 };
	int rc = fs_call_before(fs, &call);

	return fs_call_done(fs, &call, rc ? rc : unlink(path), err);
}

int fs_mkdir(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_MKDIR, .path = path, .fd = -1 };
	int rc = fs_call_before(fs, &call);

	return fs_call_done(fs, &call, rc ? rc : mkdir(path, 0750), err);
}

/*
 * The descriptor is closed after fs_call_done() has read errno, because close()
 * may change errno.
 */
int fs_sync_dir(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_SYNC_DIR, .path = path, .fd = -1 };
	int rc = fs_call_before(fs, &call);
	int fd = -1;

	if (!rc)
		rc = fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		rc = fsync(fd);
	rc = fs_call_done(fs, &call, rc, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

/*
 * The file is synced before it is renamed, so that a crash cannot leave an
 * empty or partial file under the final name.
 */
int file_replace(struct fs *fs, const char *tmp, const char *path,
		 struct bytes b, struct err *err)
{
	struct file *f = NULL;
	int rc = file_open(fs, tmp, FILE_ENSURE, &f, err);

	if (!rc)
		rc = file_truncate(f, 0, err);
	if (!rc)
		rc = file_write(f, 0, b, err);
	if (!rc)
		rc = file_sync(f, err);
	file_close(f);
	return rc ? rc : fs_rename(fs, tmp, path, err);
}

/* The hook is not called: asking for free space changes nothing on disk. */
int fs_space(const char *path, uint64_t *total, uint64_t *available,
	     struct err *err)
{
	struct statvfs st;

	if (statvfs(path, &st))
		return err_sys(err, "statvfs %s", path);
	*total = (uint64_t)st.f_blocks * st.f_frsize;
	*available = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

/* Call lstat(), which describes a symbolic link itself and not its target. */
static int stat_path(struct fs *fs, const char *path, struct stat *st,
		     struct err *err)
{
	struct fs_call call = { .op = FS_STAT, .path = path, .fd = -1 };
	int rc = fs_call_before(fs, &call);

	return fs_call_done(fs, &call, rc ? rc : lstat(path, st), err);
}

int fs_size(struct fs *fs, const char *path, uint64_t *out, struct err *err)
{
	struct stat st = { 0 };
	int rc = stat_path(fs, path, &st, err);

	if (!rc)
		*out = (uint64_t)st.st_size;
	return rc;
}

static int fs_remove_tree(struct fs *fs, const char *path, struct err *err);

/* Remove a directory recursively, or unlink any other entry. */
static int fs_remove_entry(struct fs *fs, const char *path, struct err *err)
{
	struct stat st = { 0 };
	int rc = stat_path(fs, path, &st, err);

	if (rc)
		return rc;
	return S_ISDIR(st.st_mode) ? fs_remove_tree(fs, path, err) :
				     fs_unlink(fs, path, err);
}

/*
 * Remove a directory that is no symbolic link. All names are read before any entry is
 * removed: what readdir() returns while entries disappear is unspecified.
 */
static int fs_remove_tree(struct fs *fs, const char *path, struct err *err)
{
	struct fs_call call = { .op = FS_RMDIR, .path = path, .fd = -1 };
	struct name_list l = { 0 };
	int rc = fs_list(fs, path, &l, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < l.count && !rc; i++) {
		CLEANUP(mem_freep)
		char *name = mem_printf("%s/%s", path, l.names[i]);

		rc = fs_remove_entry(fs, name, err);
	}
	name_list_fini(&l);
	if (rc)
		return rc;
	rc = fs_call_before(fs, &call);
	return fs_call_done(fs, &call, rc ? rc : rmdir(path), err);
}

int fs_remove_dir(struct fs *fs, const char *path, struct err *err)
{
	struct stat st = { 0 };
	int rc = stat_path(fs, path, &st, err);

	if (rc)
		return rc;
	/* Of a link, what it leads to is not ours. */
	return S_ISLNK(st.st_mode) ? fs_unlink(fs, path, err) :
				     fs_remove_tree(fs, path, err);
}

/* Compare two names by bytes, for qsort(). */
static int fs_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Collect all names of an open directory except "." and "..". Returns -1 with
 * errno set when the directory cannot be read.
 */
static int list_open(DIR *d, struct name_list *l)
{
	size_t cap = 0;

	/*
	 * glibc's readdir() is thread-safe as long as no two threads share a
	 * DIR.
	 */
	for (;;) {
		struct dirent *e;

		/* NULL means end or error; only errno tells them apart. */
		errno = 0;
		e = readdir(d); /* NOLINT(concurrency-mt-unsafe) */
		if (!e)
			return errno ? -1 : 0;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		l->names =
			mem_grow(l->names, l->count, &cap, sizeof(*l->names));
		l->names[l->count++] = mem_strdup(e->d_name);
	}
}

int fs_list(struct fs *fs, const char *path, struct name_list *out,
	    struct err *err)
{
	struct fs_call call = { .op = FS_LIST, .path = path, .fd = -1 };
	struct name_list l = { 0 };
	DIR *d = NULL;
	int rc = fs_call_before(fs, &call);

	if (!rc) {
		d = opendir(path);
		rc = d ? list_open(d, &l) : -1;
	}
	rc = fs_call_done(fs, &call, rc, err);
	if (d)
		closedir(d);
	if (rc) {
		name_list_fini(&l);
		return rc;
	}
	if (l.count)
		qsort(l.names, l.count, sizeof(*l.names), fs_by_name);
	*out = l;
	return 0;
}

/* Also called for a list that is only partly filled. */
void name_list_fini(struct name_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->names[i]);
	mem_free(l->names);
	*l = (struct name_list){ 0 };
}

/*
 * Return the path of the directory that contains `path`; the caller frees it.
 */
static char *fs_parent_of(const char *path)
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

int fs_sync_parent(struct fs *fs, const char *path, struct err *err)
{
	CLEANUP(mem_freep) char *parent = fs_parent_of(path);

	return fs_sync_dir(fs, parent, err);
}

int fs_add_dir(struct fs *fs, const char *path, struct err *err)
{
	int rc = fs_mkdir(fs, path, err);

	return rc == ERR_EXISTS ? 0 : rc;
}

int fs_ensure_dir(struct fs *fs, const char *path, struct err *err)
{
	int rc = fs_add_dir(fs, path, err);

	return rc ? rc : fs_sync_parent(fs, path, err);
}
