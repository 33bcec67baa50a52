/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tools/source_sample.h"

#include <string.h>

#include "base/arena.h"
#include "base/gzip.h"
#include "base/mem.h"
#include "base/url.h"

/* Whether a folder's name can be a job or type: not empty, "." or "..". */
static bool is_folder_name(struct str folder)
{
	return folder.len && !str_is(folder, ".") && !str_is(folder, "..");
}

/*
 * Whether the name of a folder is the escaped selector of a series, as `query
 * export` and `tsdb dump` name folders.
 */
static bool is_selector(struct str folder)
{
	return memmem(folder.ptr, folder.len, "%7B", 3) ||
	       memchr(folder.ptr, '{', folder.len);
}

/* Set the labels that a file has as its note. */
static int labels_of_note(struct labels_builder *b, struct bytes note,
			  struct err *err)
{
	struct labels *labels = NULL;
	int rc = labels_decode(note, &labels, err);

	if (!rc)
		labels_set_all(b, labels);
	labels_unref(labels);
	return rc;
}

/*
 * Set the labels that a folder's name, an escaped selector, contains, or those
 * of the file's note if the name is cut. ERR_INVALID: the name is not a
 * selector, and there is no note.
 */
static int labels_of_folder(struct labels_builder *b,
			    const struct source_item *it, struct err *err)
{
	struct bytes note = gzip_note(it->data);
	struct arena arena = { 0 };
	struct selector s = { 0 };
	int rc = selector_parse(url_unescape_path(it->type, &arena), &s, err);

	for (size_t i = 0; i < s.count && !rc; i++)
		labels_set(b, s.matchers[i].name, s.matchers[i].value);
	if (rc && note.len)
		rc = labels_of_note(b, note, err);
	if (rc)
		rc = err_set(
			err, ERR_INVALID,
			"the labels of the file are unknown, because the name of its folder is not a complete selector, and the file does not contain them: give this folder alone as the source (unpack a tar first), and the profile type and all labels in --labels");
	selector_fini(&s);
	arena_fini(&arena);
	return rc;
}

void sample_maker_set_labels(const struct sample_maker *m,
			     struct labels_builder *b)
{
	for (size_t i = 0; i < m->given.count; i++)
		labels_set(b, m->given.matchers[i].name,
			   m->given.matchers[i].value);
}

/*
 * Make the labels of a profile. Folders are a job and a type only above a file
 * whose name is a time: any other file may be anywhere. ERR_INVALID: the type is
 * unknown.
 */
static int make_labels(const struct sample_maker *m,
		       const struct source_item *it, struct labels **out,
		       struct err *err)
{
	struct labels_builder b = { 0 };
	int rc = 0;

	if (it->labels) {
		labels_set_all(&b, it->labels);
	} else if (!m->named && is_selector(it->type)) {
		rc = labels_of_folder(&b, it, err);
	} else if (!m->named && it->ms >= 0 && is_folder_name(it->type)) {
		if (is_folder_name(it->job))
			labels_set(&b, str_of("job"), it->job);
		labels_set(&b, str_of(LABEL_NAME), it->type);
	}
	sample_maker_set_labels(m, &b);
	if (!rc && labels_builder_get(&b, str_of(LABEL_NAME)).len)
		rc = labels_build(&b, out, err);
	else if (!rc)
		rc = err_set(
			err, ERR_INVALID,
			"unknown profile type: the path is not <job>/<type>/<unix ms>.pb.gz, and --labels has no type; give it, such as --labels='heap{job=\"app\"}'");
	labels_builder_fini(&b);
	return rc;
}

/* Parse --labels. */
static int parse_labels(struct sample_maker *k, const char *text,
			struct err *err)
{
	int rc;

	if (!*text)
		return 0;
	rc = selector_parse(str_of(text), &k->given, err);
	if (rc)
		return err_wrap(err, rc, "--labels");
	for (size_t i = 0; i < k->given.count; i++) {
		const struct matcher *m = &k->given.matchers[i];

		if (m->op != MATCH_EQ)
			return err_set(
				err, ERR_INVALID,
				"--labels: labels must have the form name=\"value\"");
		for (size_t n = 0; n < i; n++) {
			if (str_eq(k->given.matchers[n].name, m->name))
				return err_set(err, ERR_INVALID,
					       "--labels: duplicate label %.*s",
					       STR_ARG(m->name));
		}
		k->named |= str_is(m->name, LABEL_NAME);
	}
	return 0;
}

int sample_maker_init(struct sample_maker *m, const char *labels,
		      int64_t max_profile, struct err *err)
{
	*m = (struct sample_maker){ .unpacker =
					    unpacker_new((size_t)max_profile),
				    .unpacked = mem_new(struct unpacked) };
	return parse_labels(m, labels, err);
}

void sample_maker_fini(struct sample_maker *m)
{
	selector_fini(&m->given);
	unpacker_free(m->unpacker);
	mem_free(m->unpacked);
}

/* Unpack a profile and set its time. ERR_INVALID: the time is unknown. */
static int sample_unpack(struct sample_maker *m, const struct source_item *it,
			 struct sample *out, struct err *err)
{
	int rc = unpacker_run(m->unpacker, it->data, m->unpacked, err);

	out->ms = it->ms;
	if (!rc && it->ms < 0) {
		out->ms = m->unpacked->scan.time_ns / 1000000;
		if (out->ms <= 0)
			rc = err_set(
				err, ERR_INVALID,
				"neither the name of the file nor the profile has a time: name the file <unix ms>.pb.gz");
	}
	if (!rc)
		unpacked_sample(m->unpacked, it->data, out);
	return rc;
}

int sample_make(struct sample_maker *m, const struct source_item *it,
		struct sample *out, struct err *err)
{
	int rc;

	*out = (struct sample){ 0 };
	rc = make_labels(m, it, &out->labels, err);
	if (!rc)
		rc = sample_unpack(m, it, out, err);
	if (rc)
		labels_unref(out->labels);
	return rc;
}
