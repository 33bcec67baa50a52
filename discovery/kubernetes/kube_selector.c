/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_selector.h"

#include <ctype.h>

/* Remove leading blanks. */
static void selector_skip(struct str *s)
{
	while (s->len && isspace((unsigned char)*s->ptr)) {
		s->ptr++;
		s->len--;
	}
}

/*
 * Remove leading blanks and then `token` from the start of a text. Returns
 * whether `token` was there.
 */
static bool selector_take(struct str *s, const char *token)
{
	selector_skip(s);
	if (!str_starts(*s, str_of(token)))
		return false;
	s->ptr += strlen(token);
	s->len -= strlen(token);
	return true;
}

/* Remove a word from the start of a text, and return it; empty: none. */
static struct str selector_word(struct str *s)
{
	struct str word = { 0 };

	selector_skip(s);
	word.ptr = s->ptr;
	while (s->len) {
		unsigned char c = (unsigned char)*s->ptr;

		if (!isalnum(c) && !strchr("-_./", c))
			break;
		s->ptr++;
		s->len--;
		word.len++;
	}
	return word;
}

/*
 * Remove a set of values, such as "(a, b)", from the start of a text. Returns
 * whether there was a valid set.
 */
static bool selector_take_set(struct str *s)
{
	if (!selector_take(s, "("))
		return false;
	do {
		(void)selector_word(s);
	} while (selector_take(s, ","));
	return selector_take(s, ")");
}

/*
 * Remove what follows the key of a requirement, such as "=web" or " in (a, b)".
 * Returns whether that is valid.
 */
static bool selector_take_rest(struct str *s)
{
	static const char *const signs[] = { "==", "!=", "=", ">", "<" };
	struct str before;
	struct str word;

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (!selector_take(s, signs[i]))
			continue;
		word = selector_word(s);
		return word.len || i < 3;
	}
	before = *s;
	word = selector_word(s);
	if (str_is(word, "in") || str_is(word, "notin"))
		return selector_take_set(s);
	*s = before;
	return !word.len;
}

bool kube_is_label_selector(struct str text)
{
	if (!str_trim(text).len)
		return true;
	do {
		bool not = selector_take(&text, "!");
		struct str key = selector_word(&text);

		if (!key.len || (!not &&!selector_take_rest(&text)))
			return false;
	} while (selector_take(&text, ","));
	return !str_trim(text).len;
}

/*
 * Return whether a text begins with a key and an operator (=, == or !=). The
 * rest is the value, which may be empty and is not checked. Within values,
 * commas, equals signs and backslashes are escaped by a backslash.
 */
static bool is_field_requirement(struct str text)
{
	for (size_t i = 1; i < text.len; i++) {
		if (text.ptr[i] == '\\')
			i++;
		else if (text.ptr[i] == '=')
			return text.ptr[0] != '!' || i > 1;
	}
	return false;
}

bool kube_is_field_selector(struct str text)
{
	size_t from = 0;

	if (!text.len)
		return true;
	for (size_t i = 0; i <= text.len; i++) {
		struct str one = { text.ptr + from, i - from };

		if (i < text.len && text.ptr[i] == '\\') {
			i++;
			continue;
		}
		if (i < text.len && text.ptr[i] != ',')
			continue;
		if (one.len && !is_field_requirement(one))
			return false;
		from = i + 1;
	}
	return true;
}
