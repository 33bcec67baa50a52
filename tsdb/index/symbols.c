/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/index/symbols.h"

#include "base/crc32c.h"
#include "base/dec.h"
#include "base/mem.h"
#include "tsdb/index/index_format.h"

/* Set and return ERR_CORRUPT, with the file and the offset of the damage. */
static int symbols_report_damage(const struct blob *blob, uint64_t at,
				 struct err *err)
{
	return err_set(err, ERR_CORRUPT,
		       "%s: the index is damaged at offset %llu",
		       blob_path(blob), (unsigned long long)at);
}

/* Read the content together with the checksum after it. */
int symbols_view_section(const struct blob *blob, uint64_t offset,
			 struct buf *scratch, struct bytes *content,
			 struct err *err)
{
	struct bytes b = { 0 };
	struct dec d;
	size_t len;
	int rc = blob_view(blob, offset, 4, scratch, &b, err);

	if (rc)
		return rc;
	d = dec_init(b);
	len = dec_be32(&d);
	/* blob_view() refuses a damaged length that goes beyond the file. */
	rc = blob_view(blob, offset + 4, len + 4, scratch, &b, err);
	if (rc)
		return rc;
	d = dec_init(b);
	*content = dec_bytes(&d, len);
	return dec_be32(&d) == crc32c_extend(0, *content) ?
		       0 :
		       symbols_report_damage(blob, offset, err);
}

/* Verify the checksum, and note where every 32nd symbol begins. */
int symbols_open(const struct blob *blob, uint64_t offset, struct symbols *out,
		 struct err *err)
{
	struct symbols s = { .blob = blob };
	struct buf scratch = { 0 };
	struct bytes content = { 0 };
	struct dec d;
	size_t cap = 0;
	int rc = symbols_view_section(blob, offset, &scratch, &content, err);

	if (!rc) {
		d = dec_init(content);
		s.count = dec_be32(&d);
		for (uint32_t i = 0; i < s.count && !d.bad; i++) {
			/*
			 * Note the file offset of every 32nd symbol. The
			 * content begins after the section's 4-byte length.
			 */
			if (i % INDEX_EVERY == 0) {
				s.every = mem_grow(s.every, i / INDEX_EVERY,
						   &cap, sizeof(*s.every));
				s.every[i / INDEX_EVERY] =
					offset + 4 +
					(uint64_t)(d.pos - content.ptr);
			}
			dec_str(&d);
		}
		s.end = offset + 4 + content.len;
		if (d.bad || dec_left(&d))
			rc = symbols_report_damage(blob, offset, err);
	}
	buf_fini(&scratch);
	if (rc)
		mem_free(s.every);
	else
		*out = s;
	return rc;
}

void symbols_fini(struct symbols *s)
{
	mem_free(s->every);
	*s = (struct symbols){ 0 };
}

/*
 * Read a row: the symbols from number n, a multiple of 32, up to the next
 * multiple of 32.
 */
static int symbols_row_view(const struct symbols *s, uint32_t n,
			    struct buf *scratch, struct dec *out,
			    struct err *err)
{
	uint64_t at = s->every[n / INDEX_EVERY];
	uint64_t end = n + INDEX_EVERY < s->count ?
			       s->every[n / INDEX_EVERY + 1] :
			       s->end;
	struct bytes b = { 0 };
	int rc = blob_view(s->blob, at, (size_t)(end - at), scratch, &b, err);

	*out = dec_init(b);
	return rc;
}

/*
 * Symbol numbers come from series entries, so an unknown number means damage.
 */
int symbols_get(const struct symbols *s, uint32_t n, struct buf *scratch,
		struct str *out, struct err *err)
{
	struct dec d;
	int rc;

	if (n >= s->count)
		return err_set(
			err, ERR_CORRUPT,
			"%s: the index is damaged: a series refers to label string %u, which does not exist",
			blob_path(s->blob), n);
	rc = symbols_row_view(s, n - n % INDEX_EVERY, scratch, &d, err);
	if (rc)
		return rc;
	/*
	 * Symbols differ in length, so the symbols before number n in its row
	 * are decoded, too.
	 */
	for (uint32_t i = 0; i < n % INDEX_EVERY; i++)
		dec_str(&d);
	*out = dec_str(&d);
	return d.bad ? symbols_report_damage(s->blob, s->every[n / INDEX_EVERY],
					     err) :
		       0;
}

struct symbols_iter symbols_iter(const struct symbols *s)
{
	return (struct symbols_iter){ .s = s };
}

/*
 * Each call decodes up to 32 symbols again, from the start of the row, so that
 * the iterator's only state is a number.
 */
int symbols_next(struct symbols_iter *it, struct str *out, struct err *err)
{
	int rc;

	if (it->number == it->s->count)
		return 0;
	rc = symbols_get(it->s, it->number, &it->scratch, out, err);
	if (rc)
		return rc;
	it->number++;
	return 1;
}

void symbols_iter_fini(struct symbols_iter *it)
{
	buf_fini(&it->scratch);
}
