/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_key.h"

#include "base/enc.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "tsdb/io/record.h"

/*
 * Read the key file. It is a file header, stored twice and with checksums, and
 * the key is its member `salt`.
 */
static int read_key(struct wal_key *k, struct fs *fs, const char *path,
		    struct err *err)
{
	CLEANUP(file_closep) struct file *f = NULL;
	uint8_t first[FILE_HEADER];
	struct bytes b = { .ptr = first, .len = sizeof(first) };
	struct file_header h = { 0 };
	int rc = file_open(fs, path, FILE_READ, &f, err);

	if (!rc)
		rc = file_read(f, 0, first, sizeof(first), err);
	if (!rc)
		rc = file_header_decode(b, MAGIC_KEY, &h, err);
	if (!rc)
		*k = (struct wal_key){ .known = true, .value = h.salt };
	return rc;
}

/*
 * Create the key file durably, by a rename: after a power cut there must be no
 * segments whose key is lost.
 */
static int wal_key_make_key(struct wal_key *k, struct fs *fs, const char *dir,
			    const char *path, struct err *err)
{
	CLEANUP(mem_freep) char *tmp = mem_printf("%s.tmp", path);
	struct file_header h = { .magic = MAGIC_KEY };
	struct buf bytes = { 0 };
	int rc = record_make_salt(&h.salt, err);

	if (rc)
		return rc;
	file_header_encode(&h, &bytes);
	rc = file_replace(fs, tmp, path, buf_bytes(&bytes), err);
	if (!rc)
		rc = fs_sync_dir(fs, dir, err);
	if (!rc)
		*k = (struct wal_key){ .known = true, .value = h.salt };
	buf_fini(&bytes);
	return rc;
}

void wal_key_load(struct wal_key *k, struct fs *fs, const char *dir,
		  bool read_only, const struct log *log)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/key", dir);
	struct err err;
	int rc;

	*k = (struct wal_key){ 0 };
	rc = read_key(k, fs, path, &err);
	/*
	 * A key that the disk could not read (ERR_IO) is not replaced: it may
	 * be readable later.
	 */
	if ((rc == ERR_NOTFOUND || rc == ERR_CORRUPT) && !read_only)
		rc = wal_key_make_key(k, fs, dir, path, &err);
	if (rc && rc != ERR_NOTFOUND)
		log_event(
			log, LOG_WARN,
			"cannot read or create the WAL key; until that succeeds, a WAL segment whose header is damaged cannot be read",
			LOG_FIELDS(log_text("file", path), log_err(&err)));
}

int wal_key_salt(const struct wal_key *k, uint64_t segment, uint64_t *out,
		 struct err *err)
{
	uint8_t seed[16];

	if (!k->known)
		return record_make_salt(out, err);
	enc_put_be64(seed, k->value);
	enc_put_be64(seed + 8, segment);
	*out = hash_bytes((struct bytes){ .ptr = seed, .len = sizeof(seed) });
	return 0;
}
