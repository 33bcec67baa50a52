/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_ingest.h"

#include <strings.h>

#include "base/gzip.h"
#include "convert/folded/folded_convert.h"
#include "push/labels/app_suffix.h"
#include "push/labels/push_name.h"
#include "push/receive/push_recording.h"
#include "push/wire/multipart.h"
#include "push/wire/push_time.h"

/* Samples of the CPU in a second, where the client does not say it. */
#define RATE_DEFAULT 100
#define RATE_MAX     1000000000

/* Formats of profiles. */
enum ingest_format {
	INGEST_PPROF,
	INGEST_JFR,
	INGEST_FOLDED
};

/* What a request has besides its name. */
struct ingest_request {
	enum ingest_format format;
	struct bytes profile;
	struct bytes snapshot; /* labels of the samples of a recording */
	int64_t until_ms;      /* 0: the request does not say it */
	int64_t rate;          /* 0: the request does not say it */
	struct labels_builder labels;
};

/*
 * Tell the format by the parameter. Without it: pprof in a form, else folded stacks;
 * recordings are recognised in push_ingest_form() and push_ingest_folded().
 */
static int push_ingest_format(const struct push_input *in,
			      enum ingest_format *out, struct err *err)
{
	static const struct {
		const char *name;
		enum ingest_format format;
	} formats[] = {
		{ "pprof", INGEST_PPROF },
		{ "jfr", INGEST_JFR },
		{ "folded", INGEST_FOLDED },
		{ "groups", INGEST_FOLDED },
	};

	*out = multipart_is(in->content_type) ? INGEST_PPROF : INGEST_FOLDED;
	if (!in->format.len)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		if (str_is_nocase(in->format, formats[i].name)) {
			*out = formats[i].format;
			return 0;
		}
	}
	return err_set(
		err, ERR_MEDIA,
		"unsupported format \"%.*s\": send profiles in the format pprof, jfr or folded (parameter format)",
		STR_ARG(str_clip(in->format, 40)));
}

/* Find the parts of a form, and read the configuration of sample types. */
static int push_ingest_form(struct pushing *p, struct ingest_request *q,
			    struct err *err)
{
	struct multipart form;
	const struct multipart_part *part;
	const char *name;
	int rc = multipart_split(p->in->content_type, p->in->body, &form, err);

	if (rc)
		return rc;
	part = multipart_find(&form, "sample_type_config");
	if (part)
		rc = push_types_parse(&p->types, part->body, err);
	if (rc)
		return rc;
	if (!p->in->format.len && multipart_find(&form, "jfr"))
		q->format = INGEST_JFR;
	name = q->format == INGEST_JFR ? "jfr" : "profile";
	part = multipart_find(&form, name);
	if (!part)
		return err_set(err, ERR_INVALID, "the form has no field \"%s\"",
			       name);
	q->profile = part->body;
	part = multipart_find(&form, "labels");
	if (part && q->format == INGEST_JFR)
		q->snapshot = part->body;
	return 0;
}

/* Whether bytes begin as a recording of JFR does. */
static bool push_ingest_is_recording(struct bytes b)
{
	return b.len >= 4 && !memcmp(b.ptr, "FLR\0", 4);
}

/* Find the profile in the body: in a form, or the body itself. */
static int push_ingest_body(struct pushing *p, struct ingest_request *q,
			    struct err *err)
{
	const struct push_input *in = p->in;

	if (*in->content_encoding &&
	    strcasecmp(in->content_encoding, "identity") != 0)
		return err_set(
			err, ERR_MEDIA,
			"unsupported Content-Encoding \"%.100s\": send the form uncompressed; the profile in it may be compressed with gzip",
			in->content_encoding);
	q->profile = in->body;
	return multipart_is(in->content_type) ? push_ingest_form(p, q, err) : 0;
}

/* Read the number of samples in a second; 0: the request does not say it. */
static int push_ingest_rate(const struct push_input *in, int64_t *out,
			    struct err *err)
{
	*out = 0;
	if (in->rate.len &&
	    (!str_to_i64(in->rate, out) || *out < 0 || *out > RATE_MAX))
		return err_set(
			err, ERR_INVALID,
			"parameter \"sampleRate\": expected the number of samples in a second, from 0 (not known) to 1000000000, not \"%.*s\"",
			STR_ARG(str_clip(in->rate, 40)));
	return 0;
}

/* Read all parameters, and find the profile. */
static int push_ingest_read(struct pushing *p, struct ingest_request *q,
			    struct err *err)
{
	const struct push_input *in = p->in;
	int64_t now_ms = clock_ms(p->r->o.clock);
	int rc = push_name_parse(in->name, &p->origin.app, &q->labels, err);

	if (!rc)
		rc = push_ingest_format(in, &q->format, err);
	if (!rc)
		rc = push_time_parse("from", in->from, now_ms, &p->from_ms,
				     err);
	if (!rc)
		rc = push_time_parse("until", in->until, now_ms, &q->until_ms,
				     err);
	if (!rc && q->until_ms && q->until_ms < p->from_ms)
		rc = err_set(
			err, ERR_INVALID,
			"parameter \"until\" is before parameter \"from\"");
	if (!rc)
		rc = push_ingest_rate(in, &q->rate, err);
	return rc ? rc : push_ingest_body(p, q, err);
}

/* Return for how long a profile was made; 0: the request does not say it. */
static int64_t push_ingest_duration(const struct pushing *p,
				    const struct ingest_request *q)
{
	return p->from_ms && q->until_ms ?
		       (q->until_ms - p->from_ms) * 1000000 :
		       0;
}

/* Decompress a part of the request, if it is a gzip stream. */
static int push_ingest_inflate(struct pushing *p, struct bytes *part,
			       struct buf *out, struct err *err)
{
	if (gzip_sniff(*part) != GZIP_GZIP)
		return 0;
	return pushing_inflate(p, COMPRESSION_GZIP, *part, out, part, err);
}

/* Convert a recording of JFR. */
static int push_ingest_jfr(struct pushing *p, const struct ingest_request *q,
			   struct err *err)
{
	struct buf inflated = { 0 };
	struct jfr_options o = {
		.labels = &q->labels,
		.snapshot = q->snapshot,
		.time_ns = p->from_ms * 1000000,
		.duration_ns = push_ingest_duration(p, q),
		.period_ns = q->rate ? 1000000000 / q->rate : 0,
	};
	int rc = push_ingest_inflate(p, &o.snapshot, &inflated, err);

	if (!rc)
		rc = push_recording_take(p, q->profile, &o, err);
	buf_fini(&inflated);
	return rc;
}

/* Return what is said of folded stacks besides their samples. */
static struct stack_head push_ingest_head(const struct pushing *p,
					  const struct ingest_request *q,
					  const struct app_suffix *s)
{
	struct stack_head head = {
		.types[0] = { str_of(s->type), str_of(s->unit) },
		.time_ns = p->from_ms * 1000000,
		.duration_ns = push_ingest_duration(p, q),
	};

	if (s->is_sampled) {
		head.period_type = (struct value_type){ str_of("cpu"),
							str_of("nanoseconds") };
		head.period = 1000000000 / (q->rate ? q->rate : RATE_DEFAULT);
	}
	return head;
}

/* Say how to send another format: folded stacks are what is taken without a parameter. */
static void push_ingest_suggest(struct err *err)
{
	const struct err why = *err;

	(void)err_set(
		err, why.code,
		"%s (without the parameter \"format\", the body is read as folded stacks: send other profiles with format=pprof or format=jfr)",
		why.msg);
}

/* Convert folded stacks. */
static int push_ingest_folded(struct pushing *p, struct ingest_request *q,
			      struct err *err)
{
	struct buf inflated = { 0 };
	const struct app_suffix *suffix = NULL;
	struct folded_options o = { .caller = pushing_caller(p),
				    .labels = &q->labels };
	int rc = push_ingest_inflate(p, &q->profile, &inflated, err);

	/* Without the parameter, only its first bytes tell what it is. */
	if (!rc && !p->in->format.len && push_ingest_is_recording(q->profile)) {
		rc = push_ingest_jfr(p, q, err);
		buf_fini(&inflated);
		return rc;
	}
	p->is_converted = true;
	p->profiles = 1;
	if (!rc)
		rc = app_suffix_cut(&p->origin.app, &suffix, err);
	if (!rc) {
		labels_set(&q->labels, str_of(LABEL_NAME),
			   str_of(suffix->name));
		labels_set(&q->labels, str_of(LABEL_PART),
			   str_of(suffix->is_part ? suffix->type : ""));
		o.head = push_ingest_head(p, q, suffix);
		o.factor = suffix->is_sampled ? o.head.period : 1;
		rc = folded_convert(str_from(q->profile), &o, err);
		if (rc == ERR_INVALID && !p->in->format.len)
			push_ingest_suggest(err);
	}
	buf_fini(&inflated);
	return rc;
}

/* Store the profile of a request that was read. */
static int push_ingest_store(struct pushing *p, struct ingest_request *q,
			     struct err *err)
{
	switch (q->format) {
	case INGEST_JFR:
		return push_ingest_jfr(p, q, err);
	case INGEST_FOLDED:
		return push_ingest_folded(p, q, err);
	case INGEST_PPROF:
		break;
	}
	if (push_ingest_is_recording(q->profile))
		return err_set(
			err, ERR_INVALID,
			"the profile is a recording of JFR: send it with format=jfr");
	p->profiles = 1;
	return pushing_store(p, &q->labels, q->profile, err);
}

int push_ingest_take(struct pushing *p, struct err *err)
{
	struct ingest_request q = { .format = INGEST_PPROF };
	int rc = push_ingest_read(p, &q, err);

	if (!rc)
		rc = push_ingest_store(p, &q, err);
	labels_builder_fini(&q.labels);
	return rc;
}
