/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/wal/wal_stop.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/mem.h"
#include "tsdb/io/record.h"
#include "tsdb/io/record_file.h"

#define STOP_FILE  "stopped"
#define STOP_BYTES 1024 /* maximum size of the file */

int wal_stop_read(struct wal_stop *s, struct fs *fs, const char *dir,
		  struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/" STOP_FILE, dir);
	struct buf bytes = buf_init(STOP_BYTES);
	struct bytes body = { 0 };
	int rc = record_file_read(fs, path, MAGIC_STOP, &bytes, &body, err);

	if (!rc) {
		struct dec d = dec_init(body);

		s->segment = dec_uvarint(&d);
		s->numbers.first = dec_uvarint(&d);
		s->numbers.next = dec_uvarint(&d);
		s->last_ms = dec_svarint(&d);
		if (d.bad || dec_left(&d))
			rc = err_set(err, ERR_CORRUPT, "%s: malformed", path);
	}
	buf_fini(&bytes);
	return rc;
}

int wal_stop_write(const struct wal_stop *s, struct fs *fs, const char *dir,
		   struct err *err)
{
	struct buf body = { 0 };
	int rc;

	enc_uvarint(&body, s->segment);
	enc_uvarint(&body, s->numbers.first);
	enc_uvarint(&body, s->numbers.next);
	enc_svarint(&body, s->last_ms);
	rc = record_file_write(fs, dir, STOP_FILE, MAGIC_STOP, buf_bytes(&body),
			       err);
	buf_fini(&body);
	return rc;
}
