/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/pushing.h"

#include <arpa/inet.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/transcode.h"
#include "base/units.h"
#include "push/wire/multipart.h"

/*
 * How many times are tried for a profile whose time is taken. Some clients
 * round times to seconds, and all replicas of a program without labels of their
 * own are one series.
 */
#define PUSH_NUDGES 999

/* Times before 2001 are no times of profiles: clients leave them out. */
#define PUSH_TIME_MIN_MS 978307200000

/* Largest message as JSON. */
#define JSON_MAX (2 * MIB)

/* The error message lists refused profiles up to this number of bytes. */
#define REFUSED_TEXT_MAX 360

const char *pushing_protocol(enum push_protocol p)
{
	static const char *const names[] = {
		[PUSH_INGEST] = "ingest",   [PUSH_V1] = "push",
		[PUSH_OTLP] = "otlp",       [PUSH_OTLP_GRPC] = "otlp_grpc",
		[PUSH_DATADOG] = "datadog",
	};

	return names[p];
}

/* Whether a request is one of OpenTelemetry's protocol. */
static bool pushing_is_otlp(const struct pushing *p)
{
	return p->in->protocol == PUSH_OTLP ||
	       p->in->protocol == PUSH_OTLP_GRPC;
}

struct push_sender_key pushing_key(const struct push_input *in)
{
	return (struct push_sender_key){ .protocol =
						 pushing_protocol(in->protocol),
					 .agent = in->agent,
					 .user = in->user,
					 .address = in->address };
}

/* Return the time of a profile: its own, that of the request, or now. */
static int64_t pushing_time(const struct pushing *p, const struct scan *scan)
{
	int64_t own = scan->time_ns / 1000000;

	if (own >= PUSH_TIME_MIN_MS)
		return own;
	return p->from_ms >= PUSH_TIME_MIN_MS ? p->from_ms :
						clock_ms(p->r->o.clock);
}

void pushing_refuse(struct pushing *p, const struct labels *labels,
		    const struct err *why)
{
	p->refused++;
	if (p->why.len >= REFUSED_TEXT_MAX)
		return;
	if (p->why.len)
		buf_str(&p->why, "; ");
	buf_str(&p->why, why->msg);
	if (labels) {
		struct buf text = { 0 };

		/* Long labels must not push the next reason out. */
		labels_text(labels, &text);
		buf_printf(&p->why, " (%.*s)",
			   STR_ARG(str_clip(str_from(buf_bytes(&text)), 200)));
		buf_fini(&text);
	}
}

/*
 * Mark a series whose values are increments. Such values look like counts since
 * the start of a process, because the profile has no duration.
 */
static void pushing_mark_delta(const struct pushing *p, const struct scan *scan,
			       struct labels_builder *b)
{
	static const char library[] = "com.grafana.pyroscope/";
	struct str scope = labels_builder_get(b, str_of("otel.scope.name"));
	/*
	 * A bare body may be a profile of the process since its start, which
	 * somebody sends by hand; SDKs send a form, or name their library.
	 */
	bool sends_increments = p->is_converted || p->sends_increments ||
				str_starts(scope, str_of(library)) ||
				(p->in->protocol == PUSH_INGEST &&
				 multipart_is(p->in->content_type));

	sends_increments &= !push_types_cumulative(&p->types);

	if (sends_increments && !scan->duration_ns &&
	    push_types_count(&scan->types))
		labels_set(b, str_of(LABEL_DELTA), str_of("false"));
}

/*
 * Make the labels of the unpacked profile. `sent` has those of the client.
 * Without an error, *out stays NULL if a relabelling rule drops the profile.
 */
static int pushing_labels(const struct pushing *p, const struct scan *scan,
			  const struct labels_builder *sent,
			  struct labels **out, struct err *err)
{
	struct labels_builder b = { 0 };
	int rc;

	for (size_t i = 0; i < sent->count; i++)
		labels_set(&b, sent->v[i].name, sent->v[i].value);
	if (p->in->protocol == PUSH_INGEST && !p->is_converted)
		labels_set(&b, str_of(LABEL_NAME),
			   push_types_name(&p->types, &scan->types));
	/* A profile of pprof that came inside of one of OTLP has no name. */
	if (pushing_is_otlp(p) &&
	    !labels_builder_get(&b, str_of(LABEL_NAME)).len)
		labels_set(&b, str_of(LABEL_NAME),
			   push_types_otlp_name(&scan->types));
	if (!labels_builder_get(&b, str_of(LABEL_NAME)).len) {
		labels_builder_fini(&b);
		return err_set(
			err, ERR_INVALID,
			"the series has no label __name__, which names the kind of profile");
	}
	pushing_mark_delta(p, scan, &b);
	rc = push_rules_run(p->r->rules, &p->origin, &b, err);
	if (rc == RELABEL_KEPT)
		rc = labels_build(&b, out, err);
	labels_builder_fini(&b);
	return rc;
}

/*
 * Return who sends, for the quota: a user, or an address. Whoever has one address
 * of IPv6 has the 2^64 of its network.
 */
static uint64_t pushing_sender(const struct push_input *in)
{
	struct in6_addr v6;
	char text[INET6_ADDRSTRLEN];

	if (in->user.len)
		return hash_key(bytes_of(in->user));
	snprintf(text, sizeof(text), "%.*s", STR_ARG(in->address));
	if (inet_pton(AF_INET6, text, &v6) == 1)
		return hash_key((struct bytes){ v6.s6_addr, 8 });
	return hash_key(bytes_of(in->address));
}

/* ERR_LIMIT: the sender adds too many series. */
static int pushing_too_many(const struct pushing *p, struct err *err)
{
	struct str who = p->in->user.len ? p->in->user : p->in->address;

	return err_set(
		err, ERR_LIMIT,
		"\"%.*s\" has sent more than %llu new series within an hour (--ingest.max-new-series); does a label have the id of a request, or a time?",
		STR_ARG(str_clip(who, 100)),
		(unsigned long long)p->r->o.max_new_series);
}

/* Append the unpacked profile. */
static int pushing_append(struct pushing *p, const struct scan *scan,
			  struct labels *labels, struct err *err)
{
	const struct store_order order = { .labels = labels,
					   .ms = pushing_time(p, scan),
					   .pack = true,
					   .nudges = PUSH_NUDGES };
	struct store_receipt receipt = { .lsn = 0 };
	int rc = profile_store_append(p->tools, &order, &receipt, err);

	if (rc)
		return rc;
	if (!p->stored++)
		p->first = receipt.lsn;
	p->last = receipt.lsn;
	metric_add(p->r->metrics.nudged, receipt.nudged > 0);
	return 0;
}

int pushing_check_time(const struct pushing *p, struct err *err)
{
	if (clock_mono_ns() <= p->in->deadline_ns)
		return 0;
	return err_set(
		err, ERR_TIMEOUT,
		"the profiles of the request could not be stored in time (--query.timeout)");
}

/* Return the service of a profile: of its labels, or what is known before. */
static struct str pushing_service(const struct pushing *p,
				  const struct labels_builder *sent,
				  const struct labels *labels)
{
	struct str name = str_of("service_name");
	struct str of_client;

	if (labels)
		return labels_get(labels, name);
	of_client = sent ? labels_builder_get(sent, name) : p->origin.app;
	return of_client.len ? of_client : p->origin.app;
}

void pushing_note(struct pushing *p, struct str service,
		  enum push_outcome outcome, const struct err *why)
{
	struct push_sender_key key = pushing_key(p->in);

	key.service = service;
	push_senders_note(p->r->senders, &key, outcome,
			  outcome == PUSH_STORED ? NULL : why->msg,
			  clock_ms(p->r->o.clock));
	p->noted = true;
}

/*
 * Unpack a profile, make its labels, and append it if no rule drops it.
 * ERR_AGAIN: others of the request can be stored.
 */
static int pushing_put(struct pushing *p, const struct labels_builder *sent,
		       struct bytes profile, struct labels **labels,
		       struct err *err)
{
	const struct unpacked *u;
	enum quota_verdict verdict;
	uint64_t sender;
	int rc = profile_store_unpack(p->tools, profile, &u, err);

	if (!rc)
		rc = pushing_labels(p, &u->scan, sent, labels, err);
	if (rc || !*labels)
		return rc;
	sender = pushing_sender(p->in);
	verdict = series_quota_admit(p->r->quota, sender, (*labels)->hash,
				     clock_mono_ns());
	if (verdict == QUOTA_REFUSED)
		return pushing_too_many(p, err) ? ERR_AGAIN : 0;
	rc = pushing_append(p, &u->scan, *labels, err);
	if (rc && verdict == QUOTA_NEW)
		series_quota_withdraw(p->r->quota, sender, (*labels)->hash);
	return rc;
}

int pushing_store(struct pushing *p, const struct labels_builder *sent,
		  struct bytes profile, struct err *err)
{
	struct err why = {
		.msg = "dropped by relabel_configs of the section \"push\""
	};
	enum push_outcome outcome = PUSH_DELAYED;
	struct labels *labels = NULL;
	int rc = pushing_check_time(p, err);

	if (!rc)
		rc = pushing_put(p, sent, profile, &labels, err);
	if (!rc && labels) {
		*vec_add(&p->kept) = labels;
		return 0;
	}
	if (rc)
		why = *err;
	if (!rc) {
		outcome = PUSH_DROPPED;
		metric_add(p->r->metrics.dropped[p->in->protocol], 1);
	} else if (rc == ERR_AGAIN) {
		if (!p->later.code)
			p->later = *err;
		rc = 0;
	} else if (!profile_store_may_retry(rc)) {
		outcome = PUSH_REFUSED;
		pushing_refuse(p, labels, err);
		rc = 0;
	}
	pushing_note(p, pushing_service(p, sent, labels), outcome, &why);
	labels_unref(labels);
	return rc;
}

void pushing_note_kept(struct pushing *p, int rc, const struct err *why)
{
	for (size_t i = 0; i < p->kept.count; i++) {
		struct labels *labels = p->kept.v[i];

		pushing_note(p, labels_get(labels, str_of("service_name")),
			     rc ? PUSH_DELAYED : PUSH_STORED, why);
		labels_unref(labels);
	}
	vec_fini(&p->kept);
}

void pushing_note_failure(struct pushing *p, int rc, const struct err *why)
{
	if (!p->noted)
		pushing_note(p, p->origin.app,
			     profile_store_may_retry(rc) ? PUSH_DELAYED :
							   PUSH_REFUSED,
			     why);
}

int pushing_take_memory(struct pushing *p, int64_t bytes, struct err *err)
{
	if (ingest_limiter_take(p->r->o.limiter, p->in->share,
				(int64_t)p->in->body.len + bytes))
		return 0;
	return err_set(
		err, ERR_LIMIT,
		"no memory for the request: with it, all uploads together, or those of this sender, would exceed their share of --ingest.memory; retry later");
}

int pushing_inflate(struct pushing *p, enum compression c, struct bytes body,
		    struct buf *out, struct bytes *message, struct err *err)
{
	size_t size = 0;
	int rc = compressed_body_size(c, body, p->r->o.max_profile + 2 * MIB,
				      &size, err);

	p->taken += (int64_t)compressed_body_memory(c, body, size);
	if (!rc)
		rc = pushing_take_memory(p, p->taken, err);
	*out = buf_init(size ? size : 1);
	return rc ? rc :
		    compressed_body_decode(c, profile_store_zstd(p->tools),
					   body, out, message, err);
}

int pushing_decode(struct pushing *p, struct buf *out, struct bytes *message,
		   struct err *err)
{
	enum compression c = COMPRESSION_NONE;
	int rc = compressed_body_kind(p->in->content_encoding, &c, err);

	return rc ? rc : pushing_inflate(p, c, p->in->body, out, message, err);
}

int pushing_from_json(struct pushing *p,
		      int (*from_json)(struct bytes json, struct buf *out,
				       struct err *err),
		      struct bytes *message, struct buf *out, struct err *err)
{
	int rc;

	if (message->len > JSON_MAX)
		return err_set(
			err, ERR_TOOBIG,
			"the request has more than 2 MiB of JSON: use protocol buffers");
	p->taken += (int64_t)transcode_json_memory(*message);
	rc = pushing_take_memory(p, p->taken, err);
	if (!rc)
		rc = from_json(*message, out, err);
	*message = buf_bytes(out);
	return rc;
}

/* Implement convert_caller.take, beside what the message takes. */
static int pushing_convert_take(void *ctx, size_t bytes, struct err *err)
{
	struct pushing *p = ctx;

	return pushing_take_memory(p, p->taken + (int64_t)bytes, err);
}

/* Implement convert_caller.check. */
static int pushing_convert_check(void *ctx, struct err *err)
{
	return pushing_check_time(ctx, err);
}

/* Implement convert_caller.store. */
static int pushing_convert_store(void *ctx, const struct labels_builder *labels,
				 struct bytes profile, bool *refused,
				 struct err *err)
{
	struct pushing *p = ctx;
	size_t before = p->refused;
	int rc = pushing_store(p, labels, profile, err);

	*refused = p->refused > before;
	return rc;
}

struct convert_caller pushing_caller(struct pushing *p)
{
	return (struct convert_caller){
		.ctx = p,
		.max_profile = p->r->o.max_profile,
		.max_memory = CONVERT_CALLER_MEMORY * p->r->o.max_profile,
		.take = pushing_convert_take,
		.check = pushing_convert_check,
		.store = pushing_convert_store,
	};
}
