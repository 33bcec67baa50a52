/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profiles written as text, one sample a line, and printed as such again:
 *
 *	main;work@a.go:7>inlined;leaf 1 20 pod=a bytes#64kb
 *
 * Frames are separated by ";", the outermost first; "a>b" is one location in
 * which b is inlined into a. A function may have "@file", ":line" and ":line of
 * its start". A location may begin with its mapping and its address:
 * "[/bin/app]0x10|main"; "0x10" alone has no symbols. Values follow, one for
 * each type, then labels: "key=text", "key#number" with or without a unit.
 *
 * Ownership: sketch_fini() frees; all strings are copied.
 * Threads: one thread.
 */
#ifndef TESTS_PPROF_SKETCH_H
#define TESTS_PPROF_SKETCH_H

#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"
#include "pprof/merge/merge.h"
#include "tests/check.h"

/*
 * Cuts the part behind the last sep off *s, and returns it. Without a sep it is
 * empty, and *s stays as it is.
 */
static inline struct str sketch_tail(struct str *s, char sep)
{
	for (size_t i = s->len; i > 0; i--) {
		struct str tail = { s->ptr + i, s->len - i };

		if (s->ptr[i - 1] != sep)
			continue;
		s->len = i - 1;
		return tail;
	}
	return str_of("");
}

static inline int64_t sketch_number(struct str s)
{
	int64_t v = 0;

	cr_assert(!s.len || str_to_i64(s, &v), "%.*s", STR_ARG(s));
	return v;
}

/*
 * Adds a line from the text "name@file:line:start". Line numbers can only be
 * given together with a file.
 */
static inline void sketch_line(struct pprof *p, struct str text)
{
	struct str file;
	struct str line;
	struct str start;
	struct str name = str_cut(text, '@', &file);
	struct pprof_function f = { 0 };
	uint32_t at = 0;

	file = str_cut(file, ':', &line);
	line = str_cut(line, ':', &start);
	f.name = strtab_intern(&p->strings, name);
	f.system_name = f.name;
	f.file = strtab_intern(&p->strings, file);
	f.start_line = sketch_number(start);
	while (at < p->functions.count &&
	       memcmp(&p->functions.v[at], &f, sizeof(f)) != 0)
		at++;
	if (at == p->functions.count)
		*vec_add(&p->functions) = f;
	*vec_add(&p->lines) = (struct pprof_line){
		.function = at,
		.line = sketch_number(line),
	};
}

static inline uint32_t sketch_mapping(struct pprof *p, struct str file)
{
	uint32_t s = strtab_intern(&p->strings, file);
	uint32_t at = 0;

	while (at < p->mappings.count && p->mappings.v[at].file != s)
		at++;
	if (at == p->mappings.count)
		*vec_add(&p->mappings) = (struct pprof_mapping){
			.start = 0x100000 * (at + 1),
			.limit = 0x100000 * (at + 2),
			.file = s,
		};
	return at;
}

static inline uint32_t sketch_location(struct pprof *p, struct str text)
{
	struct pprof_location l = { .mapping = PPROF_NONE };
	struct str rest = text;

	if (str_starts(rest, str_of("["))) {
		rest.ptr++;
		rest.len--;
		l.mapping = sketch_mapping(p, str_cut(rest, ']', &rest));
	}
	if (str_starts(rest, str_of("0x"))) {
		struct str hex = str_cut(rest, '|', &rest);

		l.address = strtoull(hex.ptr, NULL, 16);
	}
	l.lines.first = (uint32_t)p->lines.count;
	/* The innermost line is the first one. */
	while (rest.len) {
		struct str head = rest;
		struct str inner = sketch_tail(&head, '>');

		if (head.len == rest.len) {
			sketch_line(p, rest);
			break;
		}
		sketch_line(p, inner);
		rest = head;
	}
	l.lines.count = (uint32_t)p->lines.count - l.lines.first;
	*vec_add(&p->locations) = l;
	return (uint32_t)p->locations.count - 1;
}

static inline struct pprof_run sketch_stack(struct pprof *p, struct str text)
{
	struct pprof_run run = { .first = (uint32_t)p->frames.count };

	/* The leaf is the first frame. "-" is a stack without frames. */
	while (text.len && !str_is(text, "-")) {
		struct str head = text;
		struct str leaf = sketch_tail(&head, ';');
		bool last = head.len == text.len;
		uint32_t place = sketch_location(p, last ? text : leaf);

		*vec_add(&p->frames) = place;
		if (last)
			break;
		text = head;
	}
	run.count = (uint32_t)p->frames.count - run.first;
	return run;
}

static inline void sketch_label(struct pprof *p, struct str text)
{
	struct pprof_label l = { 0 };
	struct str value;
	struct str key = str_cut(text, '=', &value);

	if (key.len < text.len) {
		l.str = strtab_intern(&p->strings, value);
	} else {
		size_t n = 0;

		key = str_cut(text, '#', &value);
		while (n < value.len &&
		       strchr("-0123456789", value.ptr[n]) != NULL)
			n++;
		l.is_number = 1;
		l.num = sketch_number((struct str){ value.ptr, n });
		l.unit = strtab_intern(
			&p->strings,
			(struct str){ value.ptr + n, value.len - n });
	}
	l.key = strtab_intern(&p->strings, key);
	*vec_add(&p->labels) = l;
}

/* Adds the sample of one line: its stack, values and labels. */
static inline void sketch_sample(struct pprof *p, struct str line)
{
	struct pprof_run set = { 0 };
	struct str rest;
	struct pprof_run stack = sketch_stack(p, str_cut(line, ' ', &rest));

	*vec_add(&p->stacks) = stack;
	for (size_t t = 0; t < p->types.count; t++)
		*vec_add(&p->values) = sketch_number(str_cut(rest, ' ', &rest));
	set.first = (uint32_t)p->labels.count;
	while (rest.len)
		sketch_label(p, str_cut(rest, ' ', &rest));
	set.count = (uint32_t)p->labels.count - set.first;
	*vec_add(&p->label_sets) = set;
	*vec_add(&p->samples) = (struct pprof_sample){
		.stack = (uint32_t)p->stacks.count - 1,
		.labels = (uint32_t)p->label_sets.count - 1,
	};
}

/* Makes a profile as a careless writer does, in which nothing is shared. */
static inline struct pprof sketch_raw(const char *types, const char *lines)
{
	struct str rest = str_of(types);
	struct pprof p = { 0 };

	pprof_reset(&p);
	strtab_intern(&p.strings, str_of(""));
	while (rest.len) {
		struct str unit;
		struct str type =
			str_cut(str_cut(rest, ' ', &rest), '/', &unit);

		*vec_add(&p.types) =
			(struct pprof_type){ strtab_intern(&p.strings, type),
					     strtab_intern(&p.strings, unit) };
	}
	for (rest = str_of(lines); rest.len;)
		sketch_sample(&p, str_cut(rest, '\n', &rest));
	return p;
}

/*
 * A profile as merging leaves it, which has each string, stack and label set
 * only once.
 */
struct sketch {
	struct merge *m;
	struct pprof *p;
};

/* Makes a sketch of the raw profile, and frees the raw profile. */
static inline struct sketch sketch_merged(struct pprof raw)
{
	struct sketch s = { .m = merge_new() };

	cr_assert(!merge_add(s.m, &raw, NULL, NULL));
	pprof_fini(&raw);
	s.p = merge_finish(s.m);
	return s;
}

static inline struct sketch sketch_init(const char *types, const char *lines)
{
	return sketch_merged(sketch_raw(types, lines));
}

static inline void sketch_fini(struct sketch *s)
{
	merge_free(s->m);
}

static inline void sketch_print_location(const struct pprof *p,
					 const struct pprof_location *l,
					 struct buf *out)
{
	if (!l->lines.count)
		buf_printf(out, "0x%" PRIx64, l->address);
	for (uint32_t i = l->lines.count; i > 0; i--) {
		const struct pprof_line *line =
			&p->lines.v[l->lines.first + i - 1];
		struct str name =
			pprof_str(p, p->functions.v[line->function].name);

		buf_add(out, name.ptr, name.len);
		if (i > 1)
			buf_byte(out, '>');
	}
}

/*
 * Prints the samples as lines. Frames show only the names of functions, or an
 * address if they have none.
 */
static inline void sketch_print(const struct pprof *p, struct buf *out)
{
	for (size_t i = 0; i < p->samples.count; i++) {
		struct pprof_run set = p->label_sets.v[p->samples.v[i].labels];
		const struct pprof_run *stack = pprof_stack(p, i);

		for (uint32_t k = stack->count; k > 0; k--) {
			uint32_t place = p->frames.v[stack->first + k - 1];

			sketch_print_location(p, &p->locations.v[place], out);
			if (k > 1)
				buf_byte(out, ';');
		}
		if (!stack->count)
			buf_byte(out, '-');
		for (size_t t = 0; t < p->types.count; t++)
			buf_printf(out, " %" PRId64, pprof_values(p, i)[t]);
		for (uint32_t k = 0; k < set.count; k++) {
			const struct pprof_label *l =
				&p->labels.v[set.first + k];

			buf_printf(out, " %.*s", STR_ARG(pprof_str(p, l->key)));
			if (l->is_number)
				buf_printf(out, "#%" PRId64 "%.*s", l->num,
					   STR_ARG(pprof_str(p, l->unit)));
			else
				buf_printf(out, "=%.*s",
					   STR_ARG(pprof_str(p, l->str)));
		}
		buf_byte(out, '\n');
	}
}

/* Whether the samples are these lines. If not, prints what they are. */
static inline bool sketch_is(const struct pprof *p, const char *what,
			     const char *want)
{
	struct buf out = { 0 };
	bool ok;

	sketch_print(p, &out);
	ok = !strcmp(buf_cstr(&out), want);
	if (!ok)
		fprintf(stderr, "%s: got\n%swant\n%s", what, buf_cstr(&out),
			want);
	buf_fini(&out);
	return ok;
}

#endif
