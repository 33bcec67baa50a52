/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/names/profile_id.h"

/*
 * Names of scraped profiles, and those of the same profiles that Pyroscope's SDKs
 * push. Not allocs: it has the same values as heap, and both may be scraped.
 */
static const struct {
	const char *stored;
	const char *shown;
} aliases[] = {
	{ "profile", "process_cpu" },
	{ "heap", "memory" },
};

bool profile_id_agree(const struct profile_id *a, const struct profile_id *b)
{
	return str_eq(a->name, b->name) &&
	       str_eq(a->value.type, b->value.type) &&
	       str_eq(a->value.unit, b->value.unit);
}

int profile_id_parse(struct str text, struct profile_id *out, struct err *err)
{
	struct str *parts[] = { &out->name, &out->value.type, &out->value.unit,
				&out->period.type, &out->period.unit };
	struct str rest = text;

	*out = (struct profile_id){ 0 };
	if (str_count(text, ':') == ARRAY_SIZE(parts) - 1 ||
	    (str_count(text, ':') == ARRAY_SIZE(parts) &&
	     str_ends(text, ":delta"))) {
		for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
			*parts[i] = str_cut(rest, ':', &rest);
		if (out->name.len && out->value.type.len)
			return 0;
	}
	return err_set(
		err, ERR_INVALID,
		"invalid profile type \"%.*s\": expected NAME:TYPE:UNIT:PERIOD_TYPE:PERIOD_UNIT",
		STR_ARG(str_clip(text, 200)));
}

void profile_id_print(const struct profile_id *id, struct buf *out)
{
	const struct str parts[] = { id->name, id->value.type, id->value.unit,
				     id->period.type, id->period.unit };

	/* Names may have any byte. */
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (i)
			buf_byte(out, ':');
		buf_add(out, parts[i].ptr, parts[i].len);
	}
}

bool profile_id_is_label(struct str label)
{
	static const char *const names[] = { PROFILE_TYPE_LABEL, "__type__",
					     "__unit__", "__period_type__",
					     "__period_unit__" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(label, names[i]))
			return true;
	}
	return false;
}

void profile_id_part(const struct profile_id *id, struct str label,
		     struct buf *out)
{
	struct str value = str_is(label, "__type__")        ? id->value.type :
			   str_is(label, "__unit__")        ? id->value.unit :
			   str_is(label, "__period_type__") ? id->period.type :
							      id->period.unit;

	if (str_is(label, PROFILE_TYPE_LABEL))
		profile_id_print(id, out);
	else
		buf_add(out, value.ptr, value.len);
}

struct str profile_id_shown(struct str stored)
{
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (str_is(stored, aliases[i].stored))
			return str_of(aliases[i].shown);
	}
	return stored;
}

size_t profile_id_stored(struct str shown, struct str out[PROFILE_ALIASES_MAX])
{
	size_t n = 0;

	out[n++] = shown;
	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (str_is(shown, aliases[i].shown))
			out[n++] = str_of(aliases[i].stored);
	}
	return n;
}
