/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/kernel/side_band_record.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "base/dec.h"

/* Read a text that ends with NUL, or with the record. */
static struct str side_band_text(struct dec *d)
{
	struct bytes rest = dec_bytes(d, dec_left(d));
	const uint8_t *end = rest.len ? memchr(rest.ptr, 0, rest.len) : NULL;

	if (end)
		rest.len = (size_t)(end - rest.ptr);
	return str_from(rest);
}

/* Read a field of 24 bytes: a build ID, or a file's device and inode. */
static void side_band_file(struct dec *d, bool build_id,
			   struct side_band_record *out)
{
	size_t len;
	struct bytes bytes;

	if (!build_id) {
		out->major = dec_le32(d);
		out->minor = dec_le32(d);
		out->inode = dec_le64(d);
		dec_le64(d); /* generation of the inode */
		return;
	}
	len = dec_u8(d);
	dec_bytes(d, 3);
	bytes = dec_bytes(d, SIDE_BAND_BUILD_ID_MAX);
	if (len > bytes.len)
		d->bad = true;
	else
		out->build_id = (struct bytes){ .ptr = bytes.ptr, .len = len };
}

static void side_band_map(struct dec *d, uint16_t misc,
			  struct side_band_record *out)
{
	uint64_t length;
	uint32_t protection;

	out->pid = dec_le32(d);
	out->tid = dec_le32(d);
	out->start = dec_le64(d);
	length = dec_le64(d);
	out->offset = dec_le64(d);
	side_band_file(d, misc & PERF_RECORD_MISC_MMAP_BUILD_ID, out);
	protection = dec_le32(d);
	dec_le32(d); /* flags */
	out->text = side_band_text(d);
	out->kind = protection & PROT_EXEC ? SIDE_BAND_MAP : SIDE_BAND_OTHER;
	if (!length || __builtin_add_overflow(out->start, length, &out->end))
		d->bad = true;
}

static void side_band_name(struct dec *d, uint16_t misc,
			   struct side_band_record *out)
{
	out->kind = misc & PERF_RECORD_MISC_COMM_EXEC ? SIDE_BAND_EXEC :
							SIDE_BAND_NAME;
	out->pid = dec_le32(d);
	out->tid = dec_le32(d);
	out->text = side_band_text(d);
}

static void side_band_task(struct dec *d, enum side_band_kind kind,
			   struct side_band_record *out)
{
	out->kind = kind;
	out->pid = dec_le32(d);
	out->parent = dec_le32(d);
	out->tid = dec_le32(d);
	dec_le32(d); /* thread of the parent */
	dec_le64(d); /* time */
}

bool side_band_parse(struct bytes bytes, struct side_band_record *out)
{
	struct dec d = dec_init(bytes);
	uint32_t type = dec_le32(&d);
	uint16_t misc = dec_le16(&d);
	uint16_t size = dec_le16(&d);

	*out = (struct side_band_record){ .kind = SIDE_BAND_OTHER };
	if (d.bad || size < 16 || size > bytes.len)
		return false;
	d = dec_init((struct bytes){ .ptr = bytes.ptr + size - 8, .len = 8 });
	out->time = dec_le64(&d);
	d = dec_init((struct bytes){ .ptr = bytes.ptr + 8, .len = size - 16U });
	switch (type) {
	case PERF_RECORD_MMAP2:
		side_band_map(&d, misc, out);
		break;
	case PERF_RECORD_COMM:
		side_band_name(&d, misc, out);
		break;
	case PERF_RECORD_FORK:
		side_band_task(&d, SIDE_BAND_FORK, out);
		break;
	case PERF_RECORD_EXIT:
		side_band_task(&d, SIDE_BAND_EXIT, out);
		break;
	case PERF_RECORD_LOST:
		dec_le64(&d); /* event */
		out->kind = SIDE_BAND_LOST;
		out->lost = dec_le64(&d);
		break;
	default:
		break;
	}
	return !d.bad;
}
