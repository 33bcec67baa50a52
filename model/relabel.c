/* SPDX-License-Identifier: Apache-2.0 */
#include "model/relabel.h"

#include <locale.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <wctype.h>

#include "base/digest.h"
#include "base/mem.h"
#include "model/relabel_config.h"

#define GROUPS_HERE 16 /* more of them take the heap */

int relabel_run(const struct relabel_rules *rules, const char *but,
		struct labels_builder *b, size_t *by, struct err *err)
{
	int rc = RELABEL_KEPT;

	for (size_t i = 0; i < rules->count && rc == RELABEL_KEPT; i++) {
		const struct relabel_rule *r = &rules->v[i];

		if (by)
			*by = i;
		if (!but || !relabel_judges_by(r, str_of(but)))
			rc = relabel_apply(r, b, err);
	}
	return rc;
}

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* The name behind a $, which *t stands behind; false: the $ is just one. */
static bool take_name(struct str *t, struct str *name)
{
	bool braced = t->len && *t->ptr == '{';
	size_t i = braced;
	size_t end;

	while (i < t->len && is_word(t->ptr[i]))
		i++;
	end = i + braced;
	if (i == braced || (braced && (i == t->len || t->ptr[i] != '}')))
		return false;
	*name = (struct str){ t->ptr + braced, i - braced };
	t->ptr += end;
	t->len -= end;
	return true;
}

/* SIZE_MAX: there is none. */
static size_t group_number(const struct regex *regex, struct str name)
{
	size_t n = 0;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];

		if (c < '0' || c > '9' || n > 1000000) {
			n = regex_group_named(regex, name);
			return n ? n : SIZE_MAX;
		}
		n = n * 10 + (size_t)(c - '0');
	}
	/* $0 is all of it, $01 is nothing. */
	return *name.ptr == '0' && name.len > 1 ? SIZE_MAX : n;
}

struct match {
	const struct regex *regex;
	struct str *groups;
	size_t count;
};

static void relabel_add_group(const struct match *m, struct str name,
			      struct buf *out)
{
	size_t n = group_number(m->regex, name);

	if (n < m->count)
		buf_add(out, m->groups[n].ptr, m->groups[n].len);
}

static void relabel_expand(const struct match *m, struct str t, struct buf *out)
{
	while (t.len) {
		struct str name;
		char c = *t.ptr;

		t.ptr++;
		t.len--;
		if (c != '$') {
			buf_byte(out, (uint8_t)c);
		} else if (t.len && *t.ptr == '$') {
			buf_byte(out, '$');
			t.ptr++;
			t.len--;
		} else if (take_name(&t, &name)) {
			relabel_add_group(m, name, out);
		} else {
			buf_byte(out, '$');
		}
	}
}

/* Write the rule's templates for a value that matches; else they are empty. */
static int match_value(const struct relabel_rule *r, struct str value,
		       struct buf *target, struct buf *text, struct err *err)
{
	struct str few[GROUPS_HERE];
	struct match m = { .regex = r->regex,
			   .groups = few,
			   .count = regex_group_count(r->regex) + 1 };
	int rc;

	buf_reset(target);
	buf_reset(text);
	if (m.count > GROUPS_HERE)
		m.groups = mem_zalloc(m.count, sizeof(*m.groups));
	rc = regex_groups(r->regex, value, m.groups, m.count);
	if (rc > 0) {
		relabel_expand(&m, r->target_label, target);
		relabel_expand(&m, r->replacement, text);
	}
	if (m.groups != few)
		mem_free(m.groups);
	if (text->over || target->over)
		return err_set(
			err, ERR_LIMIT,
			"relabelling: a replacement is longer than %d bytes",
			LABEL_VALUE_MAX);
	if (rc >= 0)
		return 0;
	return err_set(err, rc,
		       "relabelling: the regex \"%.*s\" takes too many steps",
		       STR_ARG(r->pattern));
}

static bool relabel_is_name(struct str s)
{
	return s.len && str_is_utf8(s);
}

static int relabel_replace(const struct relabel_rule *r, struct str value,
			   struct labels_builder *b, struct err *err)
{
	struct buf target = buf_init(LABEL_NAME_MAX);
	struct buf text = buf_init(LABEL_VALUE_MAX);
	int rc = match_value(r, value, &target, &text, err);

	if (!rc && relabel_is_name(str_from(buf_bytes(&target))))
		labels_set(b, str_from(buf_bytes(&target)),
			   str_from(buf_bytes(&text)));
	buf_fini(&target);
	buf_fini(&text);
	return rc;
}

static void relabel_hashmod(const struct relabel_rule *r, struct str value,
			    struct labels_builder *b)
{
	uint8_t md5[DIGEST_MD5_SIZE];
	uint64_t hash = 0;
	char text[24];
	int n;

	digest_md5(bytes_of(value), md5);
	for (size_t i = 8; i < sizeof(md5); i++)
		hash = hash << 8 | md5[i];
	n = snprintf(text, sizeof(text), "%llu",
		     (unsigned long long)(hash % (uint64_t)r->modulus));
	labels_set(b, r->target_label, (struct str){ text, (size_t)n });
}

static locale_t unicode;

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

/* Part of libc on Debian; without it only ASCII has cases. */
static void locale_make(void)
{
	unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static wint_t change_case(wint_t c, bool upper)
{
	if (unicode)
		return upper ? towupper_l(c, unicode) : towlower_l(c, unicode);
	if (upper)
		return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* The character of n bytes, which are UTF-8. */
static wint_t utf8_get(const char *p, size_t n)
{
	static const unsigned first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	wint_t c = (unsigned char)*p & first[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

static void utf8_put(struct buf *out, wint_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };

	buf_byte(out, (uint8_t)(lead[more] | c >> (6 * more)));
	while (more--)
		buf_byte(out, (uint8_t)(0x80 | (c >> (6 * more) & 0x3f)));
}

static void set_case(const struct relabel_rule *r, struct str value,
		     struct labels_builder *b)
{
	struct buf text = { 0 };
	size_t n;

	pthread_once(&locale_once, locale_make);
	for (size_t i = 0; i < value.len; i += n) {
		struct str rest = { value.ptr + i, value.len - i };

		n = str_utf8_len(rest);
		utf8_put(&text,
			 n ? change_case(utf8_get(rest.ptr, n),
					 r->action == RELABEL_UPPERCASE) :
			     0xfffd);
		n = n ? n : 1;
	}
	labels_set(b, r->target_label, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

/* Labels as they are before the rule changes them, by name. */
static struct label *relabel_sort_names(const struct labels_builder *b)
{
	struct label *v = mem_zalloc(b->count + 1, sizeof(*v));

	if (b->count) {
		memcpy(v, b->v, b->count * sizeof(*v));
		qsort(v, b->count, sizeof(*v), label_by_name);
	}
	return v;
}

static int relabel_labelmap(const struct relabel_rule *r,
			    struct labels_builder *b, struct err *err)
{
	size_t count = b->count;
	struct label *v = relabel_sort_names(b);
	struct buf none = { 0 };
	struct buf name = { 0 };
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		rc = match_value(r, v[i].name, &none, &name, err);
		if (!rc && relabel_is_name(str_from(buf_bytes(&name))))
			labels_set(b, str_from(buf_bytes(&name)), v[i].value);
	}
	buf_fini(&none);
	buf_fini(&name);
	mem_free(v);
	return rc;
}

/* Remove the labels whose names match, or those whose do not. */
static void remove_labels(const struct relabel_rule *r,
			  struct labels_builder *b, bool matching)
{
	for (size_t i = b->count; i-- > 0;) {
		if (regex_matches(r->regex, b->v[i].name) == matching)
			labels_set(b, b->v[i].name, str_of(""));
	}
}

static void join_sources(const struct relabel_rule *r,
			 const struct labels_builder *b, struct buf *out)
{
	for (size_t i = 0; i < r->source_count; i++) {
		struct str value = labels_builder_get(b, r->source_labels[i]);

		if (i)
			buf_add(out, r->separator.ptr, r->separator.len);
		buf_add(out, value.ptr, value.len);
	}
}

static int relabel_act(const struct relabel_rule *r, struct str value,
		       struct labels_builder *b, struct err *err)
{
	int rc = 0;

	switch (r->action) {
	case RELABEL_KEEP:
		return regex_matches(r->regex, value);
	case RELABEL_DROP:
		return !regex_matches(r->regex, value);
	case RELABEL_KEEPEQUAL:
		return str_eq(labels_builder_get(b, r->target_label), value);
	case RELABEL_DROPEQUAL:
		return !str_eq(labels_builder_get(b, r->target_label), value);
	case RELABEL_REPLACE:
		rc = relabel_replace(r, value, b, err);
		break;
	case RELABEL_HASHMOD:
		relabel_hashmod(r, value, b);
		break;
	case RELABEL_LABELMAP:
		rc = relabel_labelmap(r, b, err);
		break;
	case RELABEL_LABELDROP:
		remove_labels(r, b, true);
		break;
	case RELABEL_LABELKEEP:
		remove_labels(r, b, false);
		break;
	case RELABEL_LOWERCASE:
	case RELABEL_UPPERCASE:
		set_case(r, value, b);
		break;
	}
	return rc ? rc : RELABEL_KEPT;
}

int relabel_apply(const struct relabel_rule *rule, struct labels_builder *b,
		  struct err *err)
{
	struct buf value = { 0 };
	int rc;

	join_sources(rule, b, &value);
	rc = relabel_act(rule, str_from(buf_bytes(&value)), b, err);
	buf_fini(&value);
	return rc;
}

bool relabel_judges_by(const struct relabel_rule *r, struct str label)
{
	bool reads = r->action == RELABEL_KEEPEQUAL ||
		     r->action == RELABEL_DROPEQUAL;
	bool judges = reads || r->action == RELABEL_KEEP ||
		      r->action == RELABEL_DROP;

	if (reads && str_eq(r->target_label, label))
		return true;
	for (size_t i = 0; judges && i < r->source_count; i++) {
		if (str_eq(r->source_labels[i], label))
			return true;
	}
	return false;
}
