/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/profile_store.h"

#include "base/mem.h"
#include "base/mutex.h"
#include "base/units.h"
#include "base/zstd.h"

#define KEEP (4 * MIB) /* bytes; a larger buffer is freed after its use */

/*
 * A profile of at least this many bytes that arrives uncompressed is compressed
 * for the WAL; for smaller ones the gain is too small.
 */
#define PACK_MIN 512

/* Number of profiles of which the place is remembered. */
#define RECENT_MAX 2048

/* The zstd level for the WAL: the fastest of the positive levels. */
#define PACK_LEVEL 1

struct store_tools {
	struct profile_store *store;
	struct zstd *zstd;
	struct unpacker *unpacker;
	struct unpacked *unpacked;
	struct bytes body;        /* of the last profile_store_unpack() */
	struct buf packed;        /* a profile, compressed for the WAL */
	struct buf message;       /* of profile_store_message() */
	struct store_tools *next; /* in profile_store.unused */
};

/* Where a profile was stored. */
struct store_place {
	uint64_t series; /* hash of the labels */
	int64_t ms;
	uint64_t hash; /* of the profile */
};

struct profile_store {
	struct profile_store_options o;
	struct mutex mu;
	struct store_tools *unused; /* guarded by mu */
	/*
	 * The latest profiles that could be moved, guarded by mu. An agent's
	 * storage does not know which times are taken; these do. NULL: none
	 * yet.
	 */
	struct store_place *recent;
	size_t recent_count; /* how many were ever added */
};

struct profile_store *profile_store_new(const struct profile_store_options *o)
{
	struct profile_store *s = mem_new(struct profile_store);

	s->o = *o;
	mutex_init(&s->mu);
	return s;
}

static void store_tools_free(struct store_tools *t)
{
	zstd_free(t->zstd);
	unpacker_free(t->unpacker);
	mem_free(t->unpacked);
	buf_fini(&t->packed);
	buf_fini(&t->message);
	mem_free(t);
}

void profile_store_free(struct profile_store *s)
{
	if (!s)
		return;
	while (s->unused) {
		struct store_tools *t = s->unused;

		s->unused = t->next;
		store_tools_free(t);
	}
	mem_free(s->recent);
	mutex_destroy(&s->mu);
	mem_free(s);
}

/* Make new tools. */
static struct store_tools *store_tools_new(struct profile_store *s)
{
	struct store_tools *t = mem_new(struct store_tools);

	t->store = s;
	t->zstd = zstd_new();
	t->unpacker = unpacker_new(s->o.max_profile);
	if (s->o.limiter)
		unpacker_share(t->unpacker,
			       ingest_limiter_large_profile_mu(s->o.limiter));
	t->unpacked = mem_alloc(sizeof(*t->unpacked));
	return t;
}

struct store_tools *profile_store_take(struct profile_store *s)
{
	struct store_tools *t;

	mutex_lock(&s->mu);
	t = s->unused;
	if (t)
		s->unused = t->next;
	mutex_unlock(&s->mu);
	return t ? t : store_tools_new(s);
}

void profile_store_give(struct profile_store *s, struct store_tools *t)
{
	unpacker_done(t->unpacker);
	if (t->packed.cap > KEEP)
		buf_fini(&t->packed);
	if (t->message.cap > KEEP)
		buf_fini(&t->message);
	mutex_lock(&s->mu);
	t->next = s->unused;
	s->unused = t;
	mutex_unlock(&s->mu);
}

struct zstd *profile_store_zstd(struct store_tools *t)
{
	return t->zstd;
}

struct buf *profile_store_message(struct store_tools *t)
{
	buf_reset(&t->message);
	return &t->message;
}

int profile_store_unpack(struct store_tools *t, struct bytes body,
			 const struct unpacked **out, struct err *err)
{
	int rc = unpacker_run(t->unpacker, body, t->unpacked, err);

	t->body = body;
	*out = rc ? NULL : t->unpacked;
	return rc;
}

/*
 * Claim the place of a sample; false: another profile has it. A place that was
 * claimed in vain is of no harm, as the next one is as good.
 */
static bool store_claim(struct profile_store *s, const struct sample *x)
{
	const struct store_place *found = NULL;
	bool is_free;
	size_t n;

	mutex_lock(&s->mu);
	if (!s->recent)
		s->recent = mem_zalloc(RECENT_MAX, sizeof(*s->recent));
	n = s->recent_count < RECENT_MAX ? s->recent_count : RECENT_MAX;
	for (size_t i = 0; i < n && !found; i++) {
		const struct store_place *p = &s->recent[i];

		if (p->ms == x->ms && p->series == x->labels->hash)
			found = p;
	}
	is_free = !found || found->hash == x->hash;
	if (!found)
		s->recent[s->recent_count++ % RECENT_MAX] =
			(struct store_place){ .series = x->labels->hash,
					      .ms = x->ms,
					      .hash = x->hash };
	mutex_unlock(&s->mu);
	return is_free;
}

/* Compress the body of `s` if it is uncompressed and gets smaller. */
static void store_tools_pack(struct store_tools *t, struct sample *s)
{
	if (s->encoding != BODY_PLAIN || s->body.len < PACK_MIN)
		return;
	buf_reset(&t->packed);
	zstd_compress(t->zstd, PACK_LEVEL, &s->body, 1, &t->packed);
	if (t->packed.over || t->packed.len >= s->body.len)
		return;
	s->encoding = BODY_ZSTD;
	s->body = buf_bytes(&t->packed);
}

int profile_store_append(struct store_tools *t, const struct store_order *order,
			 struct store_receipt *out, struct err *err)
{
	struct appender *a = t->store->o.appender;
	struct sample s = { .labels = order->labels, .ms = order->ms };
	unsigned nudged = 0;
	int rc;

	unpacked_sample(t->unpacked, t->body, &s);
	if (order->pack)
		store_tools_pack(t, &s);
	for (;;) {
		s.ms = order->ms + nudged;
		s.may_move = nudged < order->nudges;
		rc = s.may_move && !store_claim(t->store, &s) ?
			     ERR_EXISTS :
			     a->append(a, &s, &out->lsn, err);
		if (rc != ERR_EXISTS || !s.may_move)
			break;
		nudged++;
	}
	out->nudged = nudged;
	out->samples = s.sample_count;
	return rc;
}

int profile_store_put(struct store_tools *t, struct bytes body,
		      const struct store_order *order,
		      struct store_receipt *out, struct err *err)
{
	const struct unpacked *u;
	int rc = profile_store_unpack(t, body, &u, err);

	return rc ? rc : profile_store_append(t, order, out, err);
}

bool profile_store_may_retry(int rc)
{
	return rc == ERR_LIMIT || rc == ERR_NOSPACE || rc == ERR_IO ||
	       rc == ERR_CLOSED || rc == ERR_TIMEOUT || rc == ERR_AGAIN;
}
