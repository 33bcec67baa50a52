/* SPDX-License-Identifier: Apache-2.0 */
#include "adhoc/adhoc_receive.h"

#include "adhoc/adhoc_upload.h"
#include "base/compressed_body.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/units.h"
#include "convert/folded/folded_convert.h"
#include "convert/jfr/jfr_convert.h"
#include "convert/perf/perf_convert.h"
#include "pprof/proto/unpack.h"

#define GZIP_LEVEL 6

/* A file that is being received. */
struct receiving {
	struct adhoc_store *store;
	const struct adhoc_order *order;
	const struct adhoc_options *o;
	struct adhoc_upload *upload;
	struct unpacker *unpacker;
	struct gzip *gzip;
	int64_t inflated;  /* memory of the decompressed body */
	int64_t converted; /* memory of the conversion */
	struct adhoc_meta meta;
	struct buf note;
};

/* Take memory for all that is there, and so many bytes. */
static int adhoc_receive_take(struct receiving *x, int64_t bytes,
			      struct err *err)
{
	if (ingest_limiter_take(x->o->limiter, x->order->share,
				x->order->held + x->inflated + x->converted +
					bytes))
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"no memory for the file: with it, all uploads together, or those of this sender, would exceed their share of --ingest.memory; retry later");
}

/* Implement convert_caller.take. */
static int adhoc_receive_convert_take(void *ctx, size_t bytes, struct err *err)
{
	struct receiving *x = ctx;

	x->converted = (int64_t)bytes;
	return adhoc_receive_take(x, 0, err);
}

/* Implement convert_caller.check. */
static int adhoc_receive_check(void *ctx, struct err *err)
{
	const struct receiving *x = ctx;

	return clock_mono_ns() < x->order->deadline_ns ?
		       0 :
		       err_set(err, ERR_TIMEOUT,
			       "the file takes longer to read than --query.timeout allows");
}

/* Compress a profile, unless it came as a gzip stream, and write it. */
static int adhoc_receive_keep(struct receiving *x, struct str name,
			      const struct unpacked *p, struct bytes packed,
			      struct err *err)
{
	/* What does not get smaller gets a little larger. */
	size_t most = p->raw.len + p->raw.len / 8 + 4096;
	struct buf out = { 0 };
	int rc;

	/* A stream may have anything in its headers. */
	if (!packed.len || packed.len > most) {
		rc = adhoc_receive_take(x, (int64_t)most, err);
		if (rc)
			return rc;
		gzip_compress(x->gzip, GZIP_LEVEL, p->raw, &out);
		packed = buf_bytes(&out);
	}
	rc = adhoc_upload_add(x->upload, name, &p->scan.types, p->raw.len,
			      packed, err);
	buf_fini(&out);
	return rc;
}

/* Keep a profile of pprof. ERR_INVALID: it is none. */
static int adhoc_receive_pprof(struct receiving *x, struct bytes body,
			       struct err *err)
{
	struct unpacked *p = mem_new(struct unpacked);
	bool is_gzip = gzip_sniff(body) == GZIP_GZIP;
	int rc = unpacker_run(x->unpacker, body, p, err);

	x->meta.format = str_of("pprof");
	if (!rc)
		rc = adhoc_receive_keep(x, str_of("profile"), p,
					is_gzip ? body : (struct bytes){ 0 },
					err);
	unpacker_done(x->unpacker);
	mem_free(p);
	return rc;
}

/* Implement convert_caller.store. */
static int adhoc_receive_store(void *ctx, const struct labels_builder *labels,
			       struct bytes profile, bool *refused,
			       struct err *err)
{
	struct receiving *x = ctx;
	struct str type = labels_builder_get(labels, str_of(LABEL_NAME));
	struct str part = labels_builder_get(labels, str_of(LABEL_PART));
	struct unpacked *p = mem_new(struct unpacked);
	struct buf name = { 0 };
	int rc = unpacker_run(x->unpacker, profile, p, err);

	*refused = false;
	buf_printf(&name, "%.*s%s%.*s", STR_ARG(type), part.len ? "/" : "",
		   STR_ARG(part));
	if (!rc)
		rc = adhoc_receive_keep(x, str_from(buf_bytes(&name)), p,
					(struct bytes){ 0 }, err);
	unpacker_done(x->unpacker);
	buf_fini(&name);
	mem_free(p);
	return rc;
}

/* Return the caller of a conversion. */
static struct convert_caller adhoc_receive_caller(struct receiving *x)
{
	return (struct convert_caller){
		.ctx = x,
		.max_profile = x->o->max_profile,
		.max_memory = CONVERT_CALLER_MEMORY * x->o->max_profile,
		.take = adhoc_receive_convert_take,
		.check = adhoc_receive_check,
		.store = adhoc_receive_store,
	};
}

/* Keep a recording of Java. */
static int adhoc_receive_jfr(struct receiving *x, struct bytes recording,
			     struct err *err)
{
	struct labels_builder none = { 0 };
	const struct jfr_options o = { .caller = adhoc_receive_caller(x),
				       .labels = &none };
	struct jfr_result result = { .profiles = 0 };
	int rc = jfr_convert(recording, &o, &result, err);

	x->meta.format = str_of("jfr");
	if (!rc && !adhoc_upload_count(x->upload))
		rc = err_set(
			err, ERR_INVALID,
			"the recording has no samples of a kind that everprof reads");
	if (!rc && result.is_cut)
		buf_printf(
			&x->note,
			"the recording is damaged (%s): what comes behind the damage is left out",
			result.why.msg);
	return rc;
}

/* Keep folded stacks. `why_not_pprof` says why the file is no profile of pprof. */
static int adhoc_receive_folded(struct receiving *x, struct str text,
				const struct err *why_not_pprof,
				struct err *err)
{
	struct labels_builder labels = { 0 };
	const struct folded_options o = {
		.caller = adhoc_receive_caller(x),
		.head = { .types[0] = { str_of("samples"), str_of("count") } },
		.factor = 1,
		.labels = &labels,
	};
	struct err why;
	int rc;

	labels_set(&labels, str_of(LABEL_NAME), str_of("samples"));
	rc = folded_convert(text, &o, &why);
	labels_builder_fini(&labels);
	x->meta.format = str_of("folded");
	if (rc == ERR_INVALID)
		return err_set(
			err, rc,
			"the file has none of the formats pprof, JFR, perf script (with its default fields comm, tid or pid, time, event, ip and sym) and folded stacks; read as pprof: %.150s; read as folded stacks: %.150s",
			why_not_pprof->msg, why.msg);
	return rc ? err_set(err, rc, "%s", why.msg) : 0;
}

/* Keep a file that is no profile of pprof, decompressed. */
static int adhoc_receive_other(struct receiving *x, struct bytes b,
			       const struct err *why_not_pprof, struct err *err)
{
	static const char perf_data[] = "PERFILE2";
	struct convert_caller caller = adhoc_receive_caller(x);
	struct str text = str_from(b);

	if (str_starts(text, (struct str){ "FLR\0", 4 }))
		return adhoc_receive_jfr(x, b, err);
	if (str_starts(text, str_of(perf_data)))
		return err_set(
			err, ERR_INVALID,
			"the file is a perf.data, which only perf can read: use the output of \"perf script -i FILE\" instead, best run on the machine where the file was recorded");
	if (!perf_convert_is(text))
		return adhoc_receive_folded(x, text, why_not_pprof, err);
	x->meta.format = str_of("perf");
	return perf_convert(text, &caller, err);
}

/* Decompress the file; the memory for it is taken first. */
static int adhoc_receive_inflate(struct receiving *x, enum compression c,
				 struct buf *out, struct bytes *message,
				 struct err *err)
{
	struct bytes body = x->order->body;
	struct zstd *z;
	size_t size = 0;
	int rc = compressed_body_size(c, body, x->o->max_profile + 2 * MIB,
				      &size, err);

	x->inflated = (int64_t)compressed_body_memory(c, body, size);
	if (!rc)
		rc = adhoc_receive_take(x, 0, err);
	if (rc)
		return rc;
	*out = buf_init(size ? size : 1);
	z = zstd_new();
	rc = compressed_body_decode(c, z, body, out, message, err);
	zstd_free(z);
	return rc;
}

/* Keep the file by the format that it has. */
static int adhoc_receive_run(struct receiving *x, struct err *err)
{
	struct bytes message = x->order->body;
	enum compression c = compressed_body_sniff(message);
	struct buf inflated = { 0 };
	struct err why;
	int rc = 0;

	/* A profile that is a gzip stream is kept as it is. */
	if (c == COMPRESSION_ZSTD)
		rc = adhoc_receive_inflate(x, c, &inflated, &message, err);
	if (!rc) {
		rc = adhoc_receive_pprof(x, message, &why);
		if (rc && rc != ERR_INVALID)
			(void)err_set(err, rc, "%s", why.msg);
		if (rc == ERR_INVALID) {
			rc = c == COMPRESSION_GZIP ?
				     adhoc_receive_inflate(x, c, &inflated,
							   &message, err) :
				     0;
			if (!rc)
				rc = adhoc_receive_other(x, message, &why, err);
		}
	}
	buf_fini(&inflated);
	return rc;
}

/* Copy what the caller is told into its arena. */
static void adhoc_receive_copy(const struct adhoc_meta *from,
			       struct arena *arena, struct adhoc_meta *out)
{
	struct adhoc_part *parts =
		arena_array(arena, struct adhoc_part, from->part_count);

	*out = *from;
	out->name = arena_str(arena, from->name);
	out->note = arena_str(arena, from->note);
	for (size_t i = 0; i < from->part_count; i++) {
		const struct adhoc_part *p = &from->parts[i];
		struct value_type *types =
			arena_array(arena, struct value_type, p->type_count);

		for (size_t k = 0; k < p->type_count; k++)
			types[k] = (struct value_type){
				arena_str(arena, p->types[k].type),
				arena_str(arena, p->types[k].unit)
			};
		parts[i] = *p;
		parts[i].name = arena_str(arena, p->name);
		parts[i].types = types;
	}
	out->parts = parts;
}

int adhoc_receive(struct adhoc_store *s, const struct adhoc_order *o,
		  struct arena *arena, struct adhoc_meta *out, struct err *err)
{
	const struct adhoc_options *options = adhoc_store_options(s);
	struct receiving x = { .store = s,
			       .order = o,
			       .o = options,
			       .upload = adhoc_upload_new(s),
			       .unpacker = unpacker_new(options->max_profile),
			       .gzip = gzip_new() };
	int rc;

	unpacker_share(x.unpacker,
		       ingest_limiter_large_profile_mu(options->limiter));
	rc = o->body.len ? adhoc_receive_run(&x, err) :
			   err_set(err, ERR_INVALID, "the file is empty");
	x.meta.name = o->name.len ? str_clip(o->name, ADHOC_NAME_MAX) :
				    x.meta.format;
	x.meta.user = o->user;
	x.meta.note = str_from(buf_bytes(&x.note));
	if (!rc)
		rc = adhoc_upload_commit(x.upload, &x.meta, err);
	if (!rc)
		adhoc_receive_copy(&x.meta, arena, out);
	buf_fini(&x.note);
	adhoc_upload_free(x.upload);
	unpacker_free(x.unpacker);
	gzip_free(x.gzip);
	return rc;
}
