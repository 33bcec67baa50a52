/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the decoding of the cursor file of remote write. If the first byte of
 * an input is odd, the checksums of its slots are corrected, so that what they
 * protect is decoded, too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/enc.h"
#include "remotewrite/send/cursor.h"

/* Bytes of a slot, and those of them that the checksum covers. */
#define SLOT    64
#define CHECKED 60

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Correct the checksum of a slot. */
static void correct_slot(uint8_t *slot)
{
	struct buf crc = { 0 };

	enc_be32(&crc, crc32c_extend(0, (struct bytes){ .ptr = slot,
							.len = CHECKED }));
	memcpy(slot + CHECKED, crc.ptr, crc.len);
	buf_fini(&crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor_state state = { .acked = 7, .safe = 8 };
	struct buf file = { 0 };
	struct err err;
	uint64_t serial;
	int rc;

	if (!size)
		return 0;
	buf_add(&file, data + 1, size - 1);
	for (size_t at = 0; data[0] & 1 && at + SLOT <= file.len; at += SLOT)
		correct_slot(file.ptr + at);
	rc = cursor_decode(buf_bytes(&file), &state, &serial, &err);
	if (rc && rc != ERR_CORRUPT && rc != ERR_UNSUPPORTED)
		abort();
	if (!rc && !serial)
		abort();
	if (rc == ERR_CORRUPT && (state.acked != 7 || state.safe != 8))
		abort();
	buf_fini(&file);
	return 0;
}
