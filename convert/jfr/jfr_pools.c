/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_pools.h"

#include "base/hash.h"

/* Return the pool of a class; JFR_POOLS: its constants are not kept. */
static enum jfr_pool_kind jfr_pools_kind(struct str class)
{
	static const char *const names[JFR_POOLS] = {
		[JFR_STACKS] = "jdk.types.StackTrace",
		[JFR_METHODS] = "jdk.types.Method",
		[JFR_CLASSES] = "java.lang.Class",
		[JFR_SYMBOLS] = "jdk.types.Symbol",
		[JFR_STRINGS] = "java.lang.String",
		[JFR_STATES] = "jdk.types.ThreadState",
	};

	for (enum jfr_pool_kind i = 0; i < JFR_POOLS; i++) {
		if (str_is(class, names[i]))
			return i;
	}
	return JFR_POOLS;
}

static bool jfr_pools_same(const void *ctx, uint32_t i, const void *key)
{
	const struct jfr_pool *pool = ctx;

	return pool->constants.v[i].key == *(const int64_t *)key;
}

struct jfr_constant *jfr_pools_find(const struct jfr_pools *p,
				    enum jfr_pool_kind kind, uint64_t key)
{
	const struct jfr_pool *pool = &p->pools[kind];
	int64_t wanted = (int64_t)key;
	uint32_t i = table_find(&pool->index, hash_foreign_number(wanted),
				jfr_pools_same, pool, &wanted);

	return i == TABLE_NONE ? NULL : &pool->constants.v[i];
}

/* Add a constant, unless it is there: parts of a chunk may repeat it. */
static void jfr_pools_add(struct jfr_pools *p, enum jfr_pool_kind kind,
			  const struct jfr_constant *c)
{
	struct jfr_pool *pool = &p->pools[kind];

	if (kind == JFR_POOLS || jfr_pools_find(p, kind, (uint64_t)c->key))
		return;
	table_add(&pool->index, hash_foreign_number(c->key),
		  (uint32_t)pool->constants.count);
	*vec_add(&pool->constants) = *c;
}

/* Read the constants of a class. */
static int jfr_pools_read_class(struct jfr_pools *p, struct jfr_reader *r,
				struct convert_meter *m, struct err *err)
{
	uint32_t class = jfr_types_find(p->types, jfr_reader_number(r));
	uint64_t count = jfr_reader_number(r);
	enum jfr_pool_kind kind;
	int rc = 0;

	if (class == TABLE_NONE) {
		r->bad = true;
		return 0;
	}
	kind = jfr_pools_kind(p->types->classes.v[class].name);
	for (uint64_t i = 0; i < count && !r->bad && !rc; i++) {
		struct jfr_constant c = { .class = class, .made = TABLE_NONE };

		c.key = (int64_t)jfr_reader_number(r);
		c.offset = (uint32_t)(r->pos - p->chunk.ptr);
		jfr_types_skip(p->types, class, r);
		jfr_pools_add(p, kind, &c);
		convert_meter_note(m,
				   (size_t)(r->pos - p->chunk.ptr) - c.offset);
		rc = convert_meter_ask(m, err);
	}
	return rc;
}

/*
 * Read the pools at an offset, which end before `end`, and set *delta to the distance of
 * those before them; 0: there are none.
 */
static int jfr_pools_read_one(struct jfr_pools *p, uint64_t offset,
			      uint64_t end, int64_t *delta,
			      struct convert_meter *m, struct err *err)
{
	struct jfr_reader r =
		jfr_reader_init((struct bytes){ p->chunk.ptr, (size_t)end });
	uint64_t classes;
	int rc = 0;

	(void)jfr_reader_bytes(&r, offset);
	for (int i = 0; i < 4; i++) /* size, type, time, duration */
		(void)jfr_reader_number(&r);
	*delta = (int64_t)jfr_reader_number(&r);
	(void)jfr_reader_fixed(&r, 1); /* flags */
	classes = jfr_reader_number(&r);
	for (uint64_t i = 0; i < classes && !r.bad && !rc; i++) {
		rc = jfr_pools_read_class(p, &r, m, err);
		convert_meter_note(m, 0);
		if (!rc)
			rc = convert_meter_ask(m, err);
	}
	if (!rc && r.bad)
		rc = err_set(err, ERR_INVALID,
			     "the constants of the recording are malformed");
	return rc;
}

/* Empty the pools, and keep their memory. */
static void jfr_pools_reset(struct jfr_pools *p)
{
	for (size_t i = 0; i < JFR_POOLS; i++) {
		p->pools[i].constants.count = 0;
		table_fini(&p->pools[i].index);
	}
}

int jfr_pools_read(struct jfr_pools *p, const struct jfr_types *types,
		   struct bytes chunk, uint64_t offset, struct convert_meter *m,
		   struct err *err)
{
	uint64_t end = chunk.len;
	int64_t delta = -1;
	int rc = 0;

	jfr_pools_reset(p);
	p->types = types;
	p->chunk = chunk;
	/* The pools before are in the bytes before, so no byte is read twice. */
	while (!rc && delta) {
		rc = jfr_pools_read_one(p, offset, end, &delta, m, err);
		end = offset;
		offset += (uint64_t)delta;
		if (!rc && delta && offset >= end)
			rc = err_set(
				err, ERR_INVALID,
				"the constants of the recording are malformed");
	}
	return rc;
}

bool jfr_pools_object(const struct jfr_pools *p, const struct jfr_constant *c,
		      struct convert_meter *m, struct jfr_object *out)
{
	struct jfr_reader r = jfr_reader_init(p->chunk);

	if (!c)
		return false;
	r.pos += c->offset;
	jfr_types_object(p->types, c->class, &r, out);
	/* It may have fields of megabytes that nobody reads. */
	convert_meter_note(m, (size_t)(r.pos - p->chunk.ptr) - c->offset);
	return !r.bad;
}

struct str jfr_pools_text(const struct jfr_pools *p, const struct jfr_text *t,
			  struct arena *arena, struct convert_meter *m)
{
	const struct jfr_constant *c;
	struct jfr_reader r = jfr_reader_init(p->chunk);
	struct jfr_text pooled;

	if (t->form != JFR_TEXT_POOLED)
		return jfr_text_decode(t, arena, m);
	c = jfr_pools_find(p, JFR_STRINGS, (uint64_t)t->key);
	if (!c)
		return str_of("");
	r.pos += c->offset;
	pooled = jfr_reader_text(&r);
	convert_meter_note(m, pooled.bytes.len);
	return jfr_text_decode(&pooled, arena, m);
}

size_t jfr_pools_memory(const struct jfr_pools *p)
{
	size_t bytes = 0;

	for (size_t i = 0; i < JFR_POOLS; i++)
		bytes += vec_memory(&p->pools[i].constants) +
			 table_memory(&p->pools[i].index);
	return bytes;
}

void jfr_pools_fini(struct jfr_pools *p)
{
	for (size_t i = 0; i < JFR_POOLS; i++) {
		vec_fini(&p->pools[i].constants);
		table_fini(&p->pools[i].index);
	}
}
