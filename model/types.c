/* SPDX-License-Identifier: Apache-2.0 */
#include "model/types.h"

#include "base/dec.h"
#include "base/enc.h"

/* Append a type and its unit. */
static void value_type_encode(const struct value_type *v, struct buf *out)
{
	enc_str(out, v->type);
	enc_str(out, v->unit);
}

/* Read a type and its unit; the text is borrowed from the encoding. */
static struct value_type value_type_decode(struct dec *d)
{
	struct value_type v;

	v.type = dec_str(d);
	v.unit = dec_str(d);
	return v;
}

void typeset_encode(const struct typeset *t, struct buf *out)
{
	enc_uvarint(out, t->count);
	for (size_t i = 0; i < t->count; i++)
		value_type_encode(&t->types[i], out);
	enc_str(out, t->default_type);
	value_type_encode(&t->period, out);
}

int typeset_decode(struct bytes encoded, struct typeset *out, struct err *err)
{
	struct dec d = dec_init(encoded);

	out->count = dec_count(&d, TYPES_MAX);
	for (size_t i = 0; i < out->count; i++)
		out->types[i] = value_type_decode(&d);
	out->default_type = dec_str(&d);
	out->period = value_type_decode(&d);
	/*
	 * The decoder keeps its error state, so one check at the end is enough.
	 */
	if (d.bad || dec_left(&d))
		return err_set(
			err, ERR_CORRUPT,
			"the list of sample types is damaged: its length, or the number of types, is wrong");
	return 0;
}

size_t typeset_count(struct bytes encoded)
{
	struct dec d = dec_init(encoded);

	return (size_t)dec_count(&d, TYPES_MAX);
}

/*
 * Report an unknown sample type and list the existing ones, in the words of
 * `go tool pprof`.
 */
static int no_such_type(const struct typeset *t, struct str name,
			struct err *err)
{
	struct buf list = { 0 };

	for (size_t i = 0; i < t->count; i++)
		buf_printf(&list, "%s%.*s", i ? " " : "",
			   STR_ARG(t->types[i].type));
	err_set(err, ERR_INVALID, "sample_index \"%.*s\" must be one of: %s",
		STR_ARG(name), buf_cstr(&list));
	buf_fini(&list);
	return ERR_INVALID;
}

size_t typeset_default(const struct typeset *t)
{
	for (size_t i = 0; t->default_type.len && i < t->count; i++) {
		if (str_eq(t->types[i].type, t->default_type))
			return i;
	}
	return t->count - 1;
}

/* Find a sample type by its position, counted from 0. */
static int index_by_number(const struct typeset *t, int64_t n, size_t *out,
			   struct err *err)
{
	if (n < 0 || (uint64_t)n >= t->count)
		return err_set(
			err, ERR_INVALID,
			"sample_index %lld is outside the range [0..%zu]",
			(long long)n, t->count - 1);
	*out = (size_t)n;
	return 0;
}

int typeset_index(const struct typeset *t, struct str name, size_t *out,
		  struct err *err)
{
	struct str legacy = name;
	int64_t n;

	if (!t->count)
		return err_set(err, ERR_INVALID,
			       "the profile has no sample types");
	if (!name.len) {
		*out = typeset_default(t);
		return 0;
	}
	if (str_to_i64(name, &n))
		return index_by_number(t, n, out, err);
	/* Old heap profiles have "space" where new ones have "inuse_space". */
	if (str_starts(name, str_of("inuse_")))
		legacy = (struct str){ name.ptr + 6, name.len - 6 };
	for (size_t i = 0; i < t->count; i++) {
		if (str_eq(t->types[i].type, name) ||
		    str_eq(t->types[i].type, legacy)) {
			*out = i;
			return 0;
		}
	}
	return no_such_type(t, name, err);
}

bool types_is_meant(struct str typed, struct str name)
{
	static const struct {
		const char *typed;
		const char *name;
	} pairs[] = {
		{ "cpu", "profile" },          { "cpu", "process_cpu" },
		{ "profile", "process_cpu" },  { "process_cpu", "profile" },
		{ "memory", "heap" },          { "mem", "heap" },
		{ "alloc", "allocs" },         { "goroutines", "goroutine" },
		{ "threads", "threadcreate" }, { "lock", "mutex" },
		{ "locks", "mutex" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (str_is(typed, pairs[i].typed) &&
		    str_is(name, pairs[i].name))
			return true;
	}
	return false;
}
