/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans the HTML of /debug/pprof/ for links to profiles. The page is input from
 * outside: lengths and counts are bounded, and only paths that Go could have
 * written are accepted.
 */
#include "scrape/target/profile_list.h"

#include "base/mem.h"
#include "base/url.h"

#define LINK         "href="
#define QUERY        "?debug="
#define PATH_MAX_LEN 128
#define LINK_MAX     256 /* maximum bytes of a quoted link */

/*
 * Whether a link names a profile type: the page also links things that are not
 * profiles of samples.
 */
static bool is_profile(struct str name)
{
	return !str_is(name, "cmdline") && !str_is(name, "symbol") &&
	       !str_is(name, "trace") && !str_is(name, "index");
}

/*
 * Whether a path is relative to the page and has only harmless characters: a
 * hostile page must not direct scrapes to other paths or hosts.
 */
static bool is_below(struct str path)
{
	if (!path.len || path.len > PATH_MAX_LEN || path.ptr[0] == '/' ||
	    memmem(path.ptr, path.len, "..", 2))
		return false;
	for (size_t i = 0; i < path.len; i++) {
		char c = path.ptr[i];

		if (c <= ' ' || c > '~' || strchr("\"'<>&:\\?#", c))
			return false;
	}
	return true;
}

static bool profile_list_has_type(const struct profile_list *t, struct str name)
{
	for (size_t i = 0; i < t->count; i++) {
		if (str_eq(t->v[i].name, name))
			return true;
	}
	return false;
}

/*
 * Add a type unless its name is unusable or already in the list. ERR_INVALID:
 * there are more than TYPE_INDEX_MAX.
 */
static int profile_list_add(struct profile_list *t, struct str path,
			    struct err *err)
{
	struct str name = url_unescape_path(path, &t->arena);

	if (!is_profile(name) || !str_is_utf8(name) ||
	    memchr(name.ptr, 0, name.len) || profile_list_has_type(t, name))
		return 0;
	if (t->count == TYPE_INDEX_MAX)
		return err_set(
			err, ERR_INVALID,
			"the page names more than %d profile types: in pprof_config, replace \"auto\" by a map of the types to scrape",
			TYPE_INDEX_MAX);
	t->v[t->count++] =
		(struct indexed_type){ name, arena_str(&t->arena, path) };
	return 0;
}

/*
 * Find the path of the next profile link, and move *page to the start of that
 * path. The result is empty if there are no more links.
 */
static struct str next_link(struct str *page)
{
	const char *at;

	while ((at = memmem(page->ptr, page->len, LINK, strlen(LINK)))) {
		const char *begin = at + strlen(LINK) + 1;
		const char *end = page->ptr + page->len;
		const char *query;
		struct str path;

		if (begin >= end)
			break;
		*page = (struct str){ begin, (size_t)(end - begin) };
		/*
		 * Look for the closing quote within LINK_MAX bytes only: a page
		 * full of unclosed links would otherwise take quadratic time.
		 */
		end = memchr(begin, begin[-1],
			     page->len < LINK_MAX ? page->len : LINK_MAX);
		if (!end || (begin[-1] != '\'' && begin[-1] != '"'))
			continue;
		query = memmem(begin, (size_t)(end - begin), QUERY,
			       strlen(QUERY));
		if (!query)
			continue;
		path = (struct str){ begin, (size_t)(query - begin) };
		if (is_below(path))
			return path;
	}
	return (struct str){ 0 };
}

int profile_list_parse(struct bytes page, struct profile_list **out,
		       struct err *err)
{
	struct profile_list *t = mem_new(struct profile_list);
	struct str rest = str_from(page);
	struct str path;
	int rc = 0;

	atomic_init(&t->refs, 1);
	while (!rc && (path = next_link(&rest)).len)
		rc = profile_list_add(t, path, err);
	if (!rc && !t->count)
		rc = err_set(
			err, ERR_INVALID,
			"the page links no profiles; expected the profile list of Go's net/http/pprof (/debug/pprof/): check path_prefix, or replace \"auto\" in pprof_config by a map of the types to scrape");
	if (rc) {
		profile_list_unref(t);
		return rc;
	}
	*out = t;
	return 0;
}

struct profile_list *profile_list_ref(struct profile_list *t)
{
	if (t)
		atomic_fetch_add(&t->refs, 1);
	return t;
}

void profile_list_unref(struct profile_list *t)
{
	if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
		return;
	arena_fini(&t->arena);
	mem_free(t);
}

bool profile_list_eq(const struct profile_list *a, const struct profile_list *b)
{
	if (!a || !b || a->count != b->count)
		return a == b;
	for (size_t i = 0; i < a->count; i++) {
		if (!str_eq(a->v[i].path, b->v[i].path))
			return false;
	}
	return true;
}
