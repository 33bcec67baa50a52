/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/io/ballast.h"

#include "base/fs.h"
#include "base/mem.h"
#include "base/mutex.h"

void ballast_init(struct ballast *b, struct fs *fs, const char *dir,
		  uint64_t size)
{
	*b = (struct ballast){ .fs = fs,
			       .path = mem_printf("%s/ballast", dir),
			       .size = size };
	mutex_init(&b->mu);
	if (fs_size(fs, b->path, &b->held, NULL))
		/* No usable file: ballast_make() will create one. */
		b->held = 0;
}

void ballast_fini(struct ballast *b)
{
	if (!b->path)
		return;
	mutex_destroy(&b->mu);
	mem_free(b->path);
	*b = (struct ballast){ 0 };
}

/*
 * Whether the disk has room for the ballast file. Twice its size must be free,
 * so that the same amount stays free after the allocation.
 */
static bool ballast_has_room(const struct ballast *b)
{
	CLEANUP(mem_freep)
	char *dir = mem_strndup((struct str){
		.ptr = b->path, .len = strlen(b->path) - sizeof("ballast") });
	uint64_t total = 0;
	uint64_t available = 0;

	return !fs_space(dir, &total, &available, NULL) &&
	       available >= 2 * b->size;
}

/*
 * Allocate the file. It is not synced: a ballast file that a power cut loses is
 * allocated again by the next ballast_make().
 */
static int ballast_write_file(struct ballast *b, struct err *err)
{
	struct file *f = NULL;
	int rc = file_open(b->fs, b->path, FILE_ENSURE, &f, err);

	if (!rc)
		rc = file_truncate(f, 0, err);
	if (!rc)
		rc = file_allocate(f, b->size, err);
	file_close(f);
	return rc;
}

/*
 * Delete the file, with the lock held. If the unlink fails, `held` still counts
 * the bytes, because they are still on disk.
 */
static void release_locked(struct ballast *b) REQUIRES(b->mu)
{
	if (b->held && !fs_unlink(b->fs, b->path, NULL))
		b->held = 0;
}

void ballast_make(struct ballast *b)
{
	mutex_lock(&b->mu);
	if (b->held != b->size) {
		/* A file of another size is from an earlier configuration. */
		release_locked(b);
		if (ballast_has_room(b) && !ballast_write_file(b, NULL))
			b->held = b->size;
		else if (fs_unlink(b->fs, b->path, NULL)) {
			/*
			 * If the file cannot be deleted, the next call replaces
			 * it.
			 */
		}
	}
	mutex_unlock(&b->mu);
}

void ballast_release(struct ballast *b)
{
	mutex_lock(&b->mu);
	release_locked(b);
	mutex_unlock(&b->mu);
}

uint64_t ballast_space_needed(const struct ballast *b, uint64_t total)
{
	return 2 * b->size < total / 8 ? 2 * b->size : total / 8;
}

uint64_t ballast_bytes(struct ballast *b)
{
	uint64_t held;

	mutex_lock(&b->mu);
	held = b->held;
	mutex_unlock(&b->mu);
	return held;
}
