/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/unpack.h"
#include "base/mutex.h"

#include "base/gzip.h"
#include "base/mem.h"
#include "base/zstd.h"

/*
 * Largest buffer, in bytes, that is kept for the next profile; larger buffers
 * are freed.
 */
#define BUFFER_KEEP (4 * MIB)

/* The state of an unpacker. */
struct unpacker {
	size_t max_raw;
	/* Held while `raw` may have a large profile; NULL: no lock. */
	struct mutex *large_profile_mu;
	bool is_large; /* `raw` may be large; large_profile_mu is held */
	struct gzip *gzip;
	struct zstd *zstd; /* zstd decompressor; NULL until needed */
	struct scanner *scanner;
	struct buf raw;     /* the decompressed profile */
	struct buf typeset; /* the profile's encoded typeset */
};

struct unpacker *unpacker_new(size_t max_raw)
{
	struct unpacker *u = mem_new(struct unpacker);

	u->max_raw = max_raw;
	u->gzip = gzip_new();
	u->scanner = scanner_new();
	/*
	 * The buffer may have one byte more than is allowed: only a profile
	 * that is too large fills it.
	 */
	u->raw = buf_init(max_raw + 1);
	u->typeset = buf_init(TYPESET_BYTES_MAX);
	return u;
}

void unpacker_free(struct unpacker *u)
{
	if (!u)
		return;
	unpacker_done(u);
	gzip_free(u->gzip);
	zstd_free(u->zstd);
	scanner_free(u->scanner);
	buf_fini(&u->raw);
	buf_fini(&u->typeset);
	mem_free(u);
}

void unpacker_share(struct unpacker *u, struct mutex *large_profile_mu)
{
	u->large_profile_mu = large_profile_mu;
}

/*
 * The lock is held from decompress_large() until the caller is done with the
 * profile, which Clang's analysis cannot follow.
 */
void unpacker_done(struct unpacker *u) NO_THREAD_ANALYSIS
{
	if (u->raw.cap > (size_t)BUFFER_KEEP)
		buf_fini(&u->raw);
	buf_reset(&u->raw);
	if (u->is_large && u->large_profile_mu)
		mutex_unlock(u->large_profile_mu);
	u->is_large = false;
}

/* Return ERR_TOOBIG with a message that names the flag that sets the limit. */
static int unpack_too_big(const struct unpacker *u, struct err *err)
{
	return err_set(
		err, ERR_TOOBIG,
		"the profile, decompressed, is larger than %zu bytes (--scrape.max-profile-size)",
		u->max_raw);
}

/*
 * Decompress into u->raw, up to the buffer's maximum size. The first bytes
 * tell the format: gzip, zlib, or zstd (which the profiler ddtrace sends).
 */
static int decompress_into(struct unpacker *u, struct bytes body,
			   struct err *err)
{
	if (!zstd_sniff(body))
		return gzip_decompress(u->gzip, body, &u->raw, err);
	if (!u->zstd)
		u->zstd = zstd_new();
	buf_reset(&u->raw);
	return zstd_decompress_all(u->zstd, body, &u->raw, err);
}

/*
 * Decompress again with the full limit, for a profile that did not fit into
 * BUFFER_KEEP. The shared lock admits one large buffer at a time, which bounds
 * the memory of all unpackers together.
 */
static int decompress_large(struct unpacker *u, struct bytes body,
			    struct err *err) NO_THREAD_ANALYSIS
{
	unpacker_done(u);
	if (u->large_profile_mu)
		mutex_lock(u->large_profile_mu);
	u->is_large = true;
	u->raw.max = u->max_raw + 1;
	return decompress_into(u, body, err);
}

/*
 * Decompress the body, and decide in which encoding the body is stored. A
 * small buffer is tried first: nearly all profiles fit into it, and it needs no
 * lock.
 */
static int unpack_decompress(struct unpacker *u, struct bytes body,
			     struct unpacked *out, struct err *err)
{
	int rc;

	unpacker_done(u);
	u->raw.max = u->max_raw < (size_t)BUFFER_KEEP ? u->max_raw + 1 :
							(size_t)BUFFER_KEEP;
	rc = decompress_into(u, body, err);
	if (rc == ERR_TOOBIG && u->max_raw >= (size_t)BUFFER_KEEP)
		rc = decompress_large(u, body, err);
	if (rc == ERR_TOOBIG || (!rc && u->raw.len > u->max_raw))
		return unpack_too_big(u, err);
	if (rc)
		return err_wrap(err, ERR_INVALID, "not a profile");
	out->encoding = BODY_DEFLATE;
	/*
	 * Readers can decompress only a single zstd frame; a body of several
	 * frames is stored decompressed.
	 */
	if (zstd_sniff(body))
		out->encoding = zstd_is_one_frame(body) ? BODY_ZSTD :
							  BODY_PLAIN;
	out->raw = buf_bytes(&u->raw);
	return 0;
}

/*
 * A body that may be zlib is first checked as it is. If it is not a valid
 * profile, it is decompressed and checked again. The error of the last attempt
 * is reported.
 */
int unpacker_run(struct unpacker *u, struct bytes body, struct unpacked *out,
		 struct err *err)
{
	struct err why = { 0 };
	int rc = 0;

	/*
	 * Release the previous profile: if it was large, it still holds a large
	 * buffer and the lock.
	 */
	unpacker_done(u);
	out->encoding = BODY_PLAIN;
	out->raw = body;
	if (gzip_sniff(body) == GZIP_GZIP || zstd_sniff(body))
		rc = unpack_decompress(u, body, out, &why);
	else if (body.len > u->max_raw)
		rc = unpack_too_big(u, &why);
	if (!rc)
		rc = scanner_run(u->scanner, out->raw, &out->scan, &why);
	/*
	 * zlib has no magic number, so a body is tried as zlib only if it is
	 * not a valid profile without decompression (docs/decisions.md, 11).
	 */
	if (rc == ERR_INVALID && gzip_sniff(body) == GZIP_ZLIB) {
		rc = unpack_decompress(u, body, out, &why);
		if (!rc)
			rc = scanner_run(u->scanner, out->raw, &out->scan,
					 &why);
	}
	if (rc)
		return err_set(err, rc, "%s", why.msg);
	buf_reset(&u->typeset);
	typeset_encode(&out->scan.types, &u->typeset);
	if (u->typeset.over)
		return err_set(
			err, ERR_TOOBIG,
			"the names and units of the profile's sample types need more than 64 KiB");
	out->typeset = buf_bytes(&u->typeset);
	return 0;
}

void unpacked_sample(const struct unpacked *u, struct bytes body,
		     struct sample *out)
{
	out->encoding = u->encoding;
	out->body = u->encoding == BODY_PLAIN ? u->raw : body;
	out->raw_len = (uint32_t)u->raw.len;
	out->hash = u->scan.hash;
	out->typeset = u->typeset;
	out->totals = u->scan.totals;
	out->sample_count = u->scan.sample_count;
	out->duration_ns = u->scan.duration_ns;
	out->period = u->scan.period;
	out->label_names = u->scan.label_names;
	out->label_name_count = u->scan.label_name_count;
	out->more_label_names = u->scan.more_label_names;
}
