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

/*
 * Number of capture groups kept on the stack; for regexes with more groups, the
 * heap is used.
 */
#define GROUPS_HERE 16

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
		if (rc < 0)
			err_wrap(err, rc, "relabelling rule %zu", i + 1);
	}
	return rc;
}

/*
 * Return whether a byte may be part of a group name after "$". Bytes of
 * non-ASCII characters count as letters.
 */
static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/*
 * Take a group name, NAME or {NAME}, from the front of *t, the text after a
 * "$". Returns false and takes nothing if there is no name; the "$" is then an
 * ordinary character. The rules are those of Go's regexp.Expand.
 */
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

/*
 * Return the number of the capture group with a given name or number, or
 * SIZE_MAX if there is none.
 */
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
	/* As in Go, $0 is the whole match, but $01 names no group. */
	return *name.ptr == '0' && name.len > 1 ? SIZE_MAX : n;
}

/*
 * The result of one match of a regex: the texts of its capture groups, where
 * group 0 is the whole match.
 */
struct match {
	const struct regex *regex;
	struct str *groups;
	size_t count;
};

/* Append the text of a group; an unknown group expands to nothing. */
static void relabel_add_group(const struct match *m, struct str name,
			      struct buf *out)
{
	size_t n = group_number(m->regex, name);

	if (n < m->count)
		buf_add(out, m->groups[n].ptr, m->groups[n].len);
}

/* Expand $1, ${name} and $$ in the template t. */
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

/*
 * Match `value`. If the regex matches, expands the rule's target_label into
 * `target` and its replacement into `text`; otherwise both buffers are left
 * empty. ERR_LIMIT: the regex took too many steps, or an expansion exceeds its
 * buffer's maximum.
 */
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
	if (target->over)
		return err_set(
			err, ERR_LIMIT,
			"with the groups of the regex filled in, target_label is longer than %d bytes",
			LABEL_NAME_MAX);
	if (text->over)
		return err_set(
			err, ERR_LIMIT,
			"the result of the replacement is longer than %d bytes",
			LABEL_VALUE_MAX);
	if (rc >= 0)
		return 0;
	return err_set(
		err, rc,
		"the regex \"%.*s\" takes too many steps: use a simpler one",
		STR_ARG(str_clip(r->pattern, 100)));
}

/* Return whether an expanded template can be a label name. */
static bool relabel_is_name(struct str s)
{
	return s.len && str_is_utf8(s);
}

/*
 * The action "replace". An invalid target name leaves the labels unchanged, as
 * in Prometheus.
 */
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

/*
 * The action "hashmod". The last 8 bytes of the MD5 sum, big-endian, make the
 * hash, as in Prometheus, so that both assign a target to the same shard.
 */
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

/* A UTF-8 locale for upper and lower case, independent of the environment. */
static locale_t unicode;

static pthread_once_t locale_once = PTHREAD_ONCE_INIT;

/*
 * C.UTF-8 is part of libc on Debian. Where it is missing, only ASCII letters
 * change case.
 */
static void locale_make(void)
{
	unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* Return the upper-case or lower-case form of a character. */
static wint_t change_case(wint_t c, bool upper)
{
	if (unicode)
		return upper ? towupper_l(c, unicode) : towlower_l(c, unicode);
	if (upper)
		return c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c;
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* Decode the character in the n bytes at p, which are valid UTF-8. */
static wint_t utf8_get(const char *p, size_t n)
{
	static const unsigned first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	wint_t c = (unsigned char)*p & first[n];

	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* Append a character in UTF-8. */
static void utf8_put(struct buf *out, wint_t c)
{
	unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
	static const uint8_t lead[] = { 0, 0xc0, 0xe0, 0xf0 };

	buf_byte(out, (uint8_t)(lead[more] | c >> (6 * more)));
	while (more--)
		buf_byte(out, (uint8_t)(0x80 | (c >> (6 * more) & 0x3f)));
}

/*
 * The actions "lowercase" and "uppercase". A byte that is not UTF-8 becomes
 * U+FFFD.
 */
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

/*
 * Return a copy of the labels, sorted by name. The action "labelmap" must read
 * the labels as they were before it adds any, and in an order that does not
 * depend on earlier rules. The caller frees the copy; the builder still owns
 * the text.
 */
static struct label *relabel_sort_names(const struct labels_builder *b)
{
	struct label *v = mem_zalloc(b->count + 1, sizeof(*v));

	if (b->count) {
		memcpy(v, b->v, b->count * sizeof(*v));
		qsort(v, b->count, sizeof(*v), label_by_name);
	}
	return v;
}

/*
 * The action "labelmap": for each label whose name matches, copies the label's
 * value to the label that the replacement names.
 */
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

/*
 * Remove the labels whose names match ("labeldrop") or do not match
 * ("labelkeep"). The loop runs backwards because labels_set() moves the last
 * label into the place of the removed one.
 */
static void remove_labels(const struct relabel_rule *r,
			  struct labels_builder *b, bool matching)
{
	for (size_t i = b->count; i-- > 0;) {
		if (regex_matches(r->regex, b->v[i].name) == matching)
			labels_set(b, b->v[i].name, str_of(""));
	}
}

/*
 * Join the values of the source labels with the separator; missing labels
 * count as empty.
 */
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

/*
 * Perform the rule's action on the joined source value. Returns an enum
 * relabel_result or an error. Actions that keep or drop return the result of a
 * comparison as it is: true equals RELABEL_KEPT, and false equals
 * RELABEL_DROPPED.
 */
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

bool relabel_changes(const struct relabel_rule *rule, struct str label)
{
	switch (rule->action) {
	case RELABEL_REPLACE:
	case RELABEL_HASHMOD:
	case RELABEL_LOWERCASE:
	case RELABEL_UPPERCASE:
		return str_eq(rule->target_label, label);
	case RELABEL_LABELMAP:
		return str_eq(rule->replacement, label);
	case RELABEL_LABELDROP:
		return regex_matches(rule->regex, label);
	case RELABEL_LABELKEEP:
		return !regex_matches(rule->regex, label);
	default:
		return false;
	}
}

/*
 * The actions "keepequal" and "dropequal" compare the source labels with the
 * target_label, so their decision depends on the target_label, too.
 */
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
