/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/dns/dns_search.h"

#include "base/mem.h"

#define NDOTS_MAX   15 /* the resolver's own bound, resolv.conf(5) */
#define DOMAINS_MAX 64 /* search domains beyond this number are ignored */

/* Remove and return the first word of a line; empty: there is none. */
static struct str take_word(struct str *line)
{
	struct str word;

	while (line->len && strchr(" \t\r", *line->ptr)) {
		line->ptr++;
		line->len--;
	}
	word = (struct str){ line->ptr, 0 };
	while (word.len < line->len && !strchr(" \t\r", word.ptr[word.len]))
		word.len++;
	line->ptr += word.len;
	line->len -= word.len;
	return word;
}

/* Remove all domains. A line with domains replaces those of earlier lines. */
static void drop_domains(struct dns_search *s)
{
	for (size_t i = 0; i < s->domains.count; i++)
		mem_free(s->domains.v[i]);
	s->domains.count = 0;
}

/* Read the value of an option "ndots:<number>". */
static void parse_option(struct str word, struct dns_search *s)
{
	static const char name[] = "ndots:";
	int64_t n;

	if (!str_starts(word, str_of(name)))
		return;
	word.ptr += sizeof(name) - 1;
	word.len -= sizeof(name) - 1;
	if (!str_to_i64(word, &n) || n < 0)
		n = 0;
	s->ndots = n < NDOTS_MAX ? (unsigned)n : NDOTS_MAX;
}

/* Read one line. */
static void parse_line(struct str line, struct dns_search *s)
{
	struct str key = take_word(&line);
	bool one = str_is(key, "domain");

	if (str_is(key, "options")) {
		for (struct str word = take_word(&line); word.len;
		     word = take_word(&line))
			parse_option(word, s);
		return;
	}
	if (!one && !str_is(key, "search"))
		return;
	drop_domains(s);
	for (struct str word = take_word(&line);
	     word.len && s->domains.count < (one ? 1 : DOMAINS_MAX);
	     word = take_word(&line))
		*vec_add(&s->domains) = mem_strndup(word);
}

void dns_search_parse(struct str text, struct dns_search *out)
{
	*out = (struct dns_search){ .ndots = 1 };
	while (text.len) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end ? (size_t)(end - text.ptr) : text.len;

		parse_line((struct str){ text.ptr, len }, out);
		len += end != NULL;
		text.ptr += len;
		text.len -= len;
	}
}

void dns_search_fini(struct dns_search *s)
{
	drop_domains(s);
	vec_fini(&s->domains);
}

/*
 * Return the full name that consists of `name` and `domain`, ending with a dot.
 */
static char *join_names(struct str name, struct str domain)
{
	const char *dot = str_ends(domain, ".") ? "" : ".";

	return mem_printf("%.*s.%.*s%s", STR_ARG(name), STR_ARG(domain), dot);
}

/*
 * A name that ends with a dot is tried only as it is. Any other name is tried
 * as it is, and with each domain of the search list: if the name has at least
 * `ndots` dots, first as it is and then with the domains; if it has fewer,
 * first with the domains and then as it is.
 */
char *dns_search_name(const struct dns_search *s, struct str name, size_t i)
{
	size_t count = s->domains.count;
	bool first = str_count(name, '.') >= s->ndots;

	if (str_ends(name, "."))
		return i ? NULL : mem_strndup(name);
	if (i > count)
		return NULL;
	if (i == (first ? 0 : count))
		return mem_printf("%.*s.", STR_ARG(name));
	return join_names(name, str_of(s->domains.v[first ? i - 1 : i]));
}
