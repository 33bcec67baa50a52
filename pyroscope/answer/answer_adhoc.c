/* SPDX-License-Identifier: Apache-2.0 */
#include "pyroscope/answer/answer_adhoc.h"

#include <stdio.h>

#include "adhoc/adhoc_receive.h"
#include "base/base64.h"
#include "base/wire.h"
#include "base/wire_write.h"
#include "pyroscope/answer/answer_render.h"
#include "pyroscope/answer/answer_stacks.h"

/* A type of a file: a sample type of one of its profiles. */
struct file_type {
	size_t part;
	const struct value_type *value;
	struct str name; /* by which the client knows it */
};

/* A file that was asked for. */
struct asked_file {
	struct adhoc_meta meta;
	struct file_type type;
	struct buf raw; /* the profile */
};

/* Return the store. ERR_UNSUPPORTED: no files are taken. */
static int answer_adhoc_store(const struct pyroscope_call *c, struct err *err)
{
	return c->adhoc ?
		       0 :
		       err_set(err, ERR_UNSUPPORTED,
			       "no files can be uploaded here: --adhoc.size is 0");
}

/* Return a type of a file; its name is in the arena. */
static struct file_type answer_adhoc_type(const struct pyroscope_call *c,
					  const struct adhoc_meta *m,
					  size_t part, size_t type)
{
	const struct adhoc_part *p = &m->parts[part];
	struct file_type t = { part, &p->types[type], p->types[type].type };

	if (m->part_count > 1)
		t.name =
			str_of(arena_printf(c->arena, "%.*s:%.*s",
					    STR_ARG(p->name), STR_ARG(t.name)));
	return t;
}

/* Find the type that is asked for; the default one of the first profile if none is. */
static int answer_adhoc_choose(const struct pyroscope_call *c,
			       const struct adhoc_meta *m, struct str wanted,
			       struct file_type *out, struct err *err)
{
	*out = answer_adhoc_type(c, m, 0, m->parts[0].default_type);
	if (!wanted.len)
		return 0;
	for (size_t part = 0; part < m->part_count; part++) {
		for (size_t i = 0; i < m->parts[part].type_count; i++) {
			*out = answer_adhoc_type(c, m, part, i);
			if (str_eq(out->name, wanted))
				return 0;
		}
	}
	return err_set(err, ERR_INVALID,
		       "the file has no profile type \"%.*s\"",
		       STR_ARG(str_clip(wanted, 100)));
}

/* Whether a file has a type of this name. */
static bool answer_adhoc_has(const struct pyroscope_call *c,
			     const struct adhoc_meta *m, struct str name)
{
	struct file_type type;

	return !answer_adhoc_choose(c, m, name, &type, NULL);
}

/*
 * Write the names of all types of a file as the field `number`; if `other` is not NULL,
 * only of those that it has, too. Returns the first one, or the default of the first
 * profile if that is one of them; empty: there is none.
 */
static struct str answer_adhoc_write_types(const struct pyroscope_call *c,
					   const struct adhoc_meta *m,
					   const struct adhoc_meta *other,
					   uint32_t number)
{
	struct str first = str_of("");

	for (size_t part = 0; part < m->part_count; part++) {
		for (size_t i = 0; i < m->parts[part].type_count; i++) {
			struct str name = answer_adhoc_type(c, m, part, i).name;

			if (other && !answer_adhoc_has(c, other, name))
				continue;
			if (!first.len ||
			    (!part && i == m->parts[0].default_type))
				first = name;
			if (number)
				wire_write_str(c->out, number, name);
		}
	}
	return first;
}

/* Read a file, and the profile with the type that is asked for. */
static int answer_adhoc_open(const struct pyroscope_call *c, struct str id,
			     struct str type, struct asked_file *out,
			     struct err *err)
{
	struct limits limits = query_limits(c->work);
	char ref[ADHOC_ID_LEN + 24];
	struct adhoc_profile p;
	int rc = adhoc_store_find(c->adhoc, id, c->arena, &out->meta, err);

	if (!rc)
		rc = answer_adhoc_choose(c, &out->meta, type, &out->type, err);
	if (rc)
		return rc;
	(void)snprintf(ref, sizeof(ref), "%s/%zu", out->meta.id,
		       out->type.part);
	rc = adhoc_store_read(c->adhoc, str_of(ref), &limits, c->arena, &p,
			      err);
	out->raw = p.raw;
	return rc;
}

/* Return what is asked of a file. */
static struct stacks_file answer_adhoc_ask(const struct pyroscope_call *c,
					   const struct asked_file *f)
{
	return (struct stacks_file){ .raw = buf_bytes(&f->raw),
				     .type = f->type.value->type,
				     .max_nodes = c->request.max_nodes };
}

/* Write a flame graph as JSON into the field `number`. */
static int answer_adhoc_write(struct pyroscope_call *c,
			      const struct buf *answer,
			      const struct value_type *value, uint32_t number,
			      bool is_diff, struct err *err)
{
	struct wire w = wire_init(buf_bytes(answer));
	struct wire_field flame = { .bytes = { .len = 0 } };
	struct buf *out = c->out;
	struct buf json = buf_init((size_t)c->work->memory->max);
	int rc;

	(void)wire_next(&w, &flame);
	c->out = &json;
	rc = answer_render_file(c, flame.bytes, value, is_diff, err);
	c->out = out;
	/* It is copied. */
	if (!rc)
		rc = query_take(c->work, (int64_t)json.len, err);
	if (!rc)
		wire_write_bytes(out, number, buf_bytes(&json));
	buf_fini(&json);
	return rc;
}

/* Answer with a file. */
static int answer_adhoc_show(struct pyroscope_call *c, struct str id,
			     struct err *err)
{
	struct buf *out = c->out;
	struct buf answer = { 0 };
	struct asked_file f = { .raw = { 0 } };
	int rc = answer_adhoc_open(c, id, c->request.type_id, &f, err);

	if (!rc) {
		const struct stacks_file ask = answer_adhoc_ask(c, &f);

		c->out = &answer;
		rc = answer_file_stacks(c, &ask, err);
		c->out = out;
	}
	if (!rc) {
		wire_write_str(out, 1, str_of(f.meta.id));
		wire_write_str(out, 2, f.meta.name);
		wire_write_number(out, 3, (uint64_t)f.meta.uploaded_ms);
		wire_write_str(out, 4, f.type.name);
		(void)answer_adhoc_write_types(c, &f.meta, NULL, 5);
		rc = answer_adhoc_write(c, &answer, f.type.value, 6, false,
					err);
	}
	buf_fini(&answer);
	buf_fini(&f.raw);
	return rc;
}

int answer_adhoc_get(struct pyroscope_call *c, struct err *err)
{
	int rc = answer_adhoc_store(c, err);

	return rc ? rc : answer_adhoc_show(c, c->request.id, err);
}

int answer_adhoc_upload(struct pyroscope_call *c, struct err *err)
{
	struct buf body = { 0 };
	struct adhoc_order order = {
		.name = c->request.name,
		.user = c->user,
		.share = c->share,
		.held = c->share ? c->share->taken : 0,
		.deadline_ns = c->work->deadline_ns,
	};
	struct adhoc_meta m;
	int rc = answer_adhoc_store(c, err);

	if (!rc)
		rc = query_take(c->work, (int64_t)c->request.content.len, err);
	if (!rc && !base64_decode(c->request.content, &body))
		rc = err_set(err, ERR_INVALID,
			     "the profile is not encoded in base64");
	order.body = buf_bytes(&body);
	if (!rc)
		rc = adhoc_receive(c->adhoc, &order, c->arena, &m, err);
	buf_fini(&body);
	return rc ? rc : answer_adhoc_show(c, str_of(m.id), err);
}

/* adhoc_store_each() callback: write a file. */
static void answer_adhoc_write_entry(void *ctx, const struct adhoc_entry *e)
{
	struct buf *out = ctx;
	struct buf file = { 0 };

	wire_write_str(&file, 1, str_of(e->id));
	wire_write_str(&file, 2, str_of(e->name));
	wire_write_number(&file, 3, (uint64_t)e->uploaded_ms);
	wire_write_bytes(out, 1, buf_bytes(&file));
	buf_fini(&file);
}

int answer_adhoc_list(struct pyroscope_call *c, struct err *err UNUSED)
{
	if (c->adhoc)
		adhoc_store_each(c->adhoc, answer_adhoc_write_entry, c->out);
	return 0;
}

/*
 * Choose the type by which two files are compared: the one that is asked for, or one that
 * both have.
 */
static int answer_adhoc_choose_both(const struct pyroscope_call *c,
				    const struct adhoc_meta *left,
				    const struct adhoc_meta *right,
				    struct str *out, struct err *err)
{
	*out = c->request.type_id;
	if (!out->len)
		*out = answer_adhoc_write_types(c, right, left, 0);
	return out->len ?
		       0 :
		       err_set(err, ERR_INVALID,
			       "the two files have no profile type in common");
}

int answer_adhoc_diff(struct pyroscope_call *c, struct err *err)
{
	struct buf *out = c->out;
	struct buf answer = { 0 };
	struct asked_file left = { .raw = { 0 } };
	struct asked_file right = { .raw = { 0 } };
	struct str type = str_of("");
	int rc = answer_adhoc_store(c, err);

	if (!rc)
		rc = adhoc_store_find(c->adhoc, c->request.id, c->arena,
				      &left.meta, err);
	if (!rc)
		rc = adhoc_store_find(c->adhoc, c->request.other_id, c->arena,
				      &right.meta, err);
	if (!rc)
		rc = answer_adhoc_choose_both(c, &left.meta, &right.meta, &type,
					      err);
	if (!rc)
		rc = answer_adhoc_open(c, c->request.id, type, &left, err);
	if (!rc)
		rc = answer_adhoc_open(c, c->request.other_id, type, &right,
				       err);
	if (!rc) {
		const struct stacks_file base = answer_adhoc_ask(c, &left);
		const struct stacks_file now = answer_adhoc_ask(c, &right);

		c->out = &answer;
		rc = answer_file_diff(c, &base, &now, err);
		c->out = out;
	}
	if (!rc) {
		(void)answer_adhoc_write_types(c, &right.meta, &left.meta, 1);
		rc = answer_adhoc_write(c, &answer, right.type.value, 2, true,
					err);
	}
	buf_fini(&answer);
	buf_fini(&left.raw);
	buf_fini(&right.raw);
	return rc;
}
