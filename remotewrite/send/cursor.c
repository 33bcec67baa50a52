/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/cursor.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/enc.h"
#include "base/fs.h"
#include "base/mem.h"

#define MAGIC 0x45505243u /* "EPRC" */

enum {
	VERSION = 1,
	SLOT = 64,         /* bytes of a slot */
	SLOT_CHECKED = 60, /* bytes that the checksum covers */
	FILE_BYTES = 2 * SLOT
};

struct cursor {
	struct file *file;
	uint64_t serial; /* number of the last state that was written */
};

/*
 * Convert the time `ms` to seconds, for a slot. Returns 0 (not known) if a slot
 * cannot store the time.
 */
static uint32_t slot_seconds(int64_t ms)
{
	return ms > 0 && ms / 1000 <= UINT32_MAX ? (uint32_t)(ms / 1000) : 0;
}

/* Append a slot with the state `s` and its number `serial`. */
static void slot_encode(const struct cursor_state *s, uint64_t serial,
			struct buf *out)
{
	size_t at = out->len;

	enc_be32(out, MAGIC);
	buf_byte(out, VERSION);
	for (int i = 0; i < 3; i++)
		buf_byte(out, 0);
	enc_be64(out, serial);
	enc_be64(out, s->acked);
	enc_be64(out, s->safe);
	enc_be64(out, (uint64_t)s->trusted_ms);
	enc_be64(out, (uint64_t)s->doubt_ms);
	enc_be64(out, s->number);
	enc_be32(out, slot_seconds(s->sample_ms));
	enc_be32(out, crc32c_extend(0, (struct bytes){ .ptr = out->ptr + at,
						       .len = SLOT_CHECKED }));
}

/*
 * Decode a slot. ERR_CORRUPT: the slot is not intact. ERR_UNSUPPORTED: a newer
 * version of everprof wrote the slot.
 */
static int slot_decode(struct bytes slot, struct cursor_state *s,
		       uint64_t *serial, struct err *err)
{
	struct bytes checked = { .ptr = slot.ptr, .len = SLOT_CHECKED };
	struct dec d = dec_init(slot);
	uint32_t magic = dec_be32(&d);
	uint8_t version = dec_u8(&d);
	struct dec crc = dec_init((struct bytes){
		.ptr = slot.ptr + SLOT_CHECKED, .len = SLOT - SLOT_CHECKED });

	if (magic != MAGIC || dec_be32(&crc) != crc32c_extend(0, checked))
		return err_set(err, ERR_CORRUPT,
			       "the cursor of remote write is damaged");
	if (version != VERSION)
		return err_set(
			err, ERR_UNSUPPORTED,
			"the cursor of remote write was written by a newer version of everprof (format %u): use that version",
			version);
	dec_bytes(&d, 3);
	*serial = dec_be64(&d);
	s->acked = dec_be64(&d);
	s->safe = dec_be64(&d);
	s->trusted_ms = (int64_t)dec_be64(&d);
	s->doubt_ms = (int64_t)dec_be64(&d);
	s->number = dec_be64(&d);
	s->sample_ms = (int64_t)dec_be32(&d) * 1000;
	return 0;
}

int cursor_decode(struct bytes file, struct cursor_state *out, uint64_t *serial,
		  struct err *err)
{
	int result = err_set(err, ERR_CORRUPT,
			     "the cursor of remote write is damaged");

	*serial = 0;
	for (size_t i = 0; i < 2 && file.len >= (i + 1) * SLOT; i++) {
		struct bytes slot = { .ptr = file.ptr + i * SLOT, .len = SLOT };
		struct cursor_state s;
		uint64_t number = 0;
		int rc = slot_decode(slot, &s, &number, err);

		if (rc == ERR_UNSUPPORTED)
			return rc;
		if (rc || number <= *serial)
			continue;
		*serial = number;
		*out = s;
		result = 0;
	}
	return result;
}

/*
 * Create or replace the cursor file `path` durably, with *state in its first
 * slot, and open the file.
 */
static int cursor_create(struct fs *fs, const char *path,
			 const struct cursor_state *state, struct file **out,
			 struct err *err)
{
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct buf b = { 0 };
	int rc;

	slot_encode(state, 1, &b);
	while (b.len < FILE_BYTES)
		buf_byte(&b, 0);
	rc = file_replace(fs, tmp, path, buf_bytes(&b), err);
	buf_fini(&b);
	if (!rc)
		rc = fs_sync_parent(fs, path, err);
	return rc ? rc : file_open(fs, path, FILE_WRITE, out, err);
}

/* Read the state from the file. */
static int cursor_load(struct file *f, struct cursor_state *state,
		       uint64_t *serial, struct err *err)
{
	uint8_t bytes[FILE_BYTES] = { 0 };
	struct bytes b = { .ptr = bytes, .len = FILE_BYTES };
	uint64_t size = 0;
	int rc = file_size(f, &size, err);

	if (!rc && size > FILE_BYTES)
		size = FILE_BYTES;
	if (!rc && size)
		rc = file_read(f, 0, bytes, (size_t)size, err);
	return rc ? rc : cursor_decode(b, state, serial, err);
}

/*
 * Called if there is no cursor file `path`. Return whether an earlier
 * cursor_open() renamed the file to `path`.unread, and then could not create a
 * new one. This is assumed if `path`.unread exists, or if the disk does not
 * tell whether `path`.unread exists.
 */
static bool cursor_was_kept(struct fs *fs, const char *path)
{
	CLEANUP(mem_freep) char *kept = mem_printf("%s.unread", path);
	uint64_t size;

	return fs_size(fs, kept, &size, NULL) != ERR_NOTFOUND;
}

/*
 * Rename the cursor file `path`, which the disk cannot read now, to
 * `path`.unread. The file is not removed, because the disk may be able to read
 * it later.
 */
static int cursor_keep_unread(struct fs *fs, const char *path, struct err *err)
{
	CLEANUP(mem_freep) char *kept = mem_printf("%s.unread", path);

	return fs_rename(fs, path, kept, err);
}

/*
 * Read the state from the cursor file `path`. `rc` is the result of opening it;
 * `f` is the open file if `rc` is 0. Returns 0 if the state was read, or if a
 * new file must be created; see *origin.
 */
static int cursor_find_state(struct fs *fs, const char *path, int rc,
			     struct file *f, struct cursor_state *state,
			     uint64_t *serial, enum cursor_origin *origin,
			     struct err *err)
{
	*origin = CURSOR_READ;
	if (rc == ERR_NOTFOUND) {
		*origin = cursor_was_kept(fs, path) ? CURSOR_UNREADABLE :
						      CURSOR_NEW;
		return 0;
	}
	if (!rc)
		rc = cursor_load(f, state, serial, err);
	else
		return rc;
	if (rc == ERR_IO && cursor_keep_unread(fs, path, err))
		return rc;
	if (rc == ERR_CORRUPT || rc == ERR_IO) {
		*origin = rc == ERR_IO ? CURSOR_UNREADABLE : CURSOR_DAMAGED;
		return 0;
	}
	return rc;
}

int cursor_open(struct fs *fs, const char *path, struct cursor_state *state,
		enum cursor_origin *origin, struct cursor **out,
		struct err *err)
{
	struct file *f = NULL;
	uint64_t serial = 1;
	int rc = file_open(fs, path, FILE_WRITE, &f, err);

	rc = cursor_find_state(fs, path, rc, f, state, &serial, origin, err);
	if (!rc && *origin != CURSOR_READ) {
		file_close(f);
		f = NULL;
		serial = 1;
		if (*origin != CURSOR_NEW)
			*state = (struct cursor_state){ 0 };
		rc = cursor_create(fs, path, state, &f, err);
	}
	if (rc) {
		file_close(f);
		return rc;
	}
	*out = mem_new(struct cursor);
	**out = (struct cursor){ .file = f, .serial = serial };
	return 0;
}

int cursor_remove(struct fs *fs, const char *path, struct err *err)
{
	CLEANUP(mem_freep) char *kept = mem_printf("%s.unread", path);
	int rc = fs_unlink(fs, kept, err);

	return rc && rc != ERR_NOTFOUND ? rc : fs_unlink(fs, path, err);
}

void cursor_close(struct cursor *c)
{
	if (!c)
		return;
	file_close(c->file);
	mem_free(c);
}

int cursor_write(struct cursor *c, const struct cursor_state *state,
		 struct err *err)
{
	struct buf b = { 0 };
	/* State n is in slot (n + 1) % 2, so the first one is in slot 0. */
	uint64_t serial = c->serial + 1;
	int rc;

	slot_encode(state, serial, &b);
	rc = file_write(c->file, (serial + 1) % 2 * SLOT, buf_bytes(&b), err);
	if (!rc)
		c->serial = serial;
	buf_fini(&b);
	return rc;
}

int cursor_sync(struct cursor *c, struct err *err)
{
	return file_sync(c->file, err);
}
