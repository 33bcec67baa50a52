/* SPDX-License-Identifier: Apache-2.0 */
#include "web/http/route.h"

#include <stdlib.h>

void answer_header(struct answer *a, const char *name, const char *value)
{
	for (size_t i = 0; i < a->header_count; i++) {
		if (!strcmp(a->headers[i].name, name)) {
			a->headers[i].value = value;
			return;
		}
	}
	if (a->header_count == ANSWER_HEADERS_MAX)
		abort(); /* too many headers: a bug of the handler */
	a->headers[a->header_count].name = name;
	a->headers[a->header_count++].value = value;
}

char *answer_header_text(struct arena *arena, struct str text, size_t max)
{
	static const char cut[] = "…";
	struct str part = text.len <= max ? text :
					    str_clip(text, max - strlen(cut));
	char *out = arena_printf(arena, "%.*s%s", STR_ARG(part),
				 part.len < text.len ? cut : "");

	for (char *c = out; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	}
	return out;
}

/*
 * Whether a path matches a route. *segment is set to the part of the path that
 * matches the * of the route.
 */
static bool route_matches(const char *route, struct str path,
			  struct str *segment)
{
	struct str pattern = str_of(route);

	while (pattern.len || path.len) {
		struct str want = str_cut(pattern, '/', &pattern);
		struct str have = str_cut(path, '/', &path);

		if (str_is(want, "*") && have.len)
			*segment = have;
		else if (!str_eq(want, have))
			return false;
	}
	return true;
}

const char *route_methods(const struct route *r)
{
	if (r && r->kind == ROUTE_MESSAGE)
		return "POST";
	if (r && r->kind == ROUTE_REMOVE)
		return "DELETE";
	if (r && route_changes(r))
		return "POST, PUT";
	return r && r->kind == ROUTE_OPEN ? "GET, HEAD" : "GET, HEAD, POST";
}

bool route_accepts(const struct route *r, struct str method)
{
	struct str rest = str_of(route_methods(r));
	bool ok = false;

	while (rest.len && !ok)
		ok = str_eq(str_trim(str_cut(rest, ',', &rest)), method);
	return ok;
}

const struct route *route_find(const struct route *routes, struct str method,
			       struct str path, struct str *segment)
{
	const struct route *other = NULL;
	struct str found;

	*segment = (struct str){ 0 };
	for (const struct route *t = routes; t->path; t++) {
		/* the comparison with an earlier route may have set it */
		found = (struct str){ 0 };
		if (!route_matches(t->path, path, &found))
			continue;
		if (route_accepts(t, method)) {
			*segment = found;
			return t;
		}
		other = other ?: t;
	}
	return other;
}
