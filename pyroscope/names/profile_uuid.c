/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/names/profile_uuid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

/*
 * The halves of a UUID: 48 bits of time, 4 of the version, 12 of the digest; then 2 bits of
 * the variant, 52 of the digest, and 10 that are 0.
 */
#define VERSION     8
#define VARIANT     2
#define DIGEST_LOW  52
#define PADDING     10
#define DIGEST_MASK ((UINT64_C(1) << DIGEST_LOW) - 1)

void profile_uuid_print(const struct profile_uuid *id,
			char out[PROFILE_UUID_LEN + 1])
{
	uint64_t high = (uint64_t)id->ms << 16 | VERSION << 12 |
			id->digest >> DIGEST_LOW;
	uint64_t low = (uint64_t)VARIANT << 62 | (id->digest & DIGEST_MASK)
							 << PADDING;

	(void)snprintf(out, PROFILE_UUID_LEN + 1,
		       "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64
		       "-%012" PRIx64,
		       high >> 32, high >> 16 & 0xffff, high & 0xffff,
		       low >> 48, low & ((UINT64_C(1) << 48) - 1));
}

/* Read the 32 digits of a UUID into its halves. */
static bool profile_uuid_read(struct str text, uint64_t half[2])
{
	size_t n = 0;

	half[0] = half[1] = 0;
	if (text.len != PROFILE_UUID_LEN)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		int digit = digit_hex_value(text.ptr[i]);

		if (is_dash ? text.ptr[i] != '-' : digit < 0)
			return false;
		if (!is_dash) {
			half[n / 16] = half[n / 16] << 4 | (uint64_t)digit;
			n++;
		}
	}
	return true;
}

int profile_uuid_parse(struct str text, struct profile_uuid *out,
		       struct err *err)
{
	uint64_t half[2];
	bool is_ours;

	if (!profile_uuid_read(text, half))
		return err_set(
			err, ERR_INVALID,
			"invalid profile id \"%.*s\": expected a UUID, such as those of exemplars",
			STR_ARG(str_clip(text, 100)));
	is_ours = (half[0] >> 12 & 15) == VERSION && half[1] >> 62 == VARIANT &&
		  !(half[1] & ((UINT64_C(1) << PADDING) - 1));
	out->ms = is_ours ? (int64_t)(half[0] >> 16) : -1;
	out->digest = (half[0] & 0xfff) << DIGEST_LOW |
		      (half[1] >> PADDING & DIGEST_MASK);
	return 0;
}

/* Order UUIDs by digest, then by time. */
static int profile_uuid_cmp(const void *a, const void *b)
{
	const struct profile_uuid *x = a;
	const struct profile_uuid *y = b;

	if (x->digest != y->digest)
		return x->digest < y->digest ? -1 : 1;
	return x->ms < y->ms ? -1 : x->ms > y->ms;
}

int profile_uuids_parse(const struct str *texts, size_t count,
			struct profile_uuids *out, struct err *err)
{
	int rc = 0;

	*out = (struct profile_uuids){ .v = mem_zalloc(count + 1,
						       sizeof(*out->v)) };
	for (; out->count < count && !rc; out->count += !rc)
		rc = profile_uuid_parse(texts[out->count], &out->v[out->count],
					err);
	qsort(out->v, out->count, sizeof(*out->v), profile_uuid_cmp);
	return rc;
}

/* Return the number of UUIDs that are ordered before one. */
static size_t profile_uuids_before(const struct profile_uuids *ids,
				   const struct profile_uuid *id)
{
	size_t low = 0;
	size_t high = ids->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile_uuid_cmp(&ids->v[middle], id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool profile_uuids_has_series(const struct profile_uuids *ids, uint64_t digest)
{
	const struct profile_uuid first = { .digest = digest, .ms = INT64_MIN };
	size_t at = profile_uuids_before(ids, &first);

	return at < ids->count && ids->v[at].digest == digest;
}

bool profile_uuids_has(const struct profile_uuids *ids, uint64_t digest,
		       int64_t ms)
{
	const struct profile_uuid id = { .digest = digest, .ms = ms };
	size_t at = profile_uuids_before(ids, &id);

	return at < ids->count && !profile_uuid_cmp(&ids->v[at], &id);
}

void profile_uuids_fini(struct profile_uuids *ids)
{
	mem_free(ids->v);
	*ids = (struct profile_uuids){ .v = NULL };
}
