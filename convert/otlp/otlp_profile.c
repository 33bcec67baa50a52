/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_profile.h"

#include "base/defs.h"

/* The numbers of the fields of a sample; timestamps have 5 in all releases. */
struct sample_fields {
	uint32_t stack;
	uint32_t attributes;
	uint32_t link;
	uint32_t values;
};

static const struct sample_fields fields_new = { 1, 2, 3, 4 };
static const struct sample_fields fields_old = { 1, 3, 4, 2 };

#define FIELD_TIMESTAMPS 5

static int otlp_profile_malformed(struct err *err)
{
	return err_set(err, ERR_INVALID, "a profile is malformed or truncated");
}

/* Read the next of several numbers, which may be packed; false at the end. */
static bool otlp_number_next(struct wire *packed, uint64_t *out)
{
	if (packed->pos >= packed->end || packed->bad)
		return false;
	*out = wire_varint(packed);
	return !packed->bad;
}

/* What a sample has, if its fields are numbered by a certain layout. */
struct sample_look {
	uint64_t stack;
	uint64_t link;
	size_t links; /* how often the field occurs */
	size_t attributes;
	size_t values;
	size_t timestamps;
	bool fits;
};

/* Count the numbers of a field, of which none may be above `max`. */
static size_t otlp_look_numbers(const struct wire_field *f, uint64_t max,
				bool *fits)
{
	struct wire w = otlp_inside(f);
	size_t count = 0;
	uint64_t v;

	if (f->type == WIRE_VARINT) {
		*fits &= f->value <= max;
		return 1;
	}
	*fits &= f->type == WIRE_BYTES;
	while (f->type == WIRE_BYTES && otlp_number_next(&w, &v)) {
		*fits &= v <= max;
		count++;
	}
	*fits &= !w.bad;
	return count;
}

/* Look at a field of a sample by a layout. */
static void otlp_look_field(const struct otlp_tables *t,
			    const struct sample_fields *n,
			    const struct wire_field *f, struct sample_look *l)
{
	size_t attributes = otlp_tables_size(t, OTLP_ATTRIBUTE);
	size_t count;

	if (f->number == n->stack) {
		l->stack = f->value;
		l->fits &= f->type == WIRE_VARINT;
	} else if (f->number == n->link) {
		l->link = f->value;
		l->links++;
		l->fits &= f->type == WIRE_VARINT;
	} else if (f->number == n->attributes) {
		count = otlp_look_numbers(f, attributes - 1, &l->fits);
		l->fits &= attributes || !count;
		l->attributes += count;
	} else if (f->number == n->values) {
		l->values += otlp_look_numbers(f, UINT64_MAX, &l->fits);
	} else if (f->number == FIELD_TIMESTAMPS) {
		l->timestamps += f->type == WIRE_BYTES ? f->bytes.len / 8 : 1;
		l->fits &= f->type == WIRE_64 ||
			   (f->type == WIRE_BYTES && f->bytes.len % 8 == 0);
	}
}

/* Whether a sample may have a layout. */
static bool otlp_look_sample(const struct otlp_tables *t,
			     const struct sample_fields *n, struct bytes sample)
{
	struct sample_look l = { .fits = true };
	struct wire w = wire_init(sample);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f))
		otlp_look_field(t, n, &f, &l);
	return l.fits && !w.bad && l.links <= 1 &&
	       (l.link < otlp_tables_size(t, OTLP_LINK) || !l.link) &&
	       (l.stack < otlp_tables_size(t, OTLP_STACK) || !l.stack) &&
	       (l.values || l.timestamps || !l.attributes) &&
	       (!l.values || !l.timestamps || l.values == l.timestamps);
}

/* What the samples that were looked at say about the layout. */
struct layout_search {
	const struct otlp_tables *t;
	size_t samples;
	size_t fit_new;
	size_t fit_old;
	bool has_comment;
	bool is_ancient; /* before 1.8 */
};

/* Look at a profile. */
static void otlp_layout_look(struct layout_search *s, struct bytes profile)
{
	struct wire w = wire_init(profile);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == 3)
			s->is_ancient |= f.type != WIRE_64;
		if (f.number == 8 && f.type == WIRE_BYTES)
			s->has_comment = true;
		if (f.number != 2 || f.type != WIRE_BYTES)
			continue;
		s->samples++;
		s->fit_new += otlp_look_sample(s->t, &fields_new, f.bytes);
		s->fit_old += otlp_look_sample(s->t, &fields_old, f.bytes);
	}
}

bool otlp_profile_next(struct wire *scope, struct bytes *profile)
{
	struct wire_field f = { 0 };

	while (wire_next(scope, &f)) {
		if (f.number == 2 && f.type == WIRE_BYTES) {
			*profile = f.bytes;
			return true;
		}
	}
	return false;
}

/* Look at the profiles of a ResourceProfiles. */
static void otlp_layout_look_resource(struct layout_search *s,
				      struct bytes resource)
{
	struct wire w = wire_init(resource);
	struct wire_field f = { 0 };
	struct bytes profile;

	while (wire_next(&w, &f)) {
		struct wire scope = otlp_inside(&f);

		while (f.number == 2 && f.type == WIRE_BYTES &&
		       otlp_profile_next(&scope, &profile))
			otlp_layout_look(s, profile);
	}
}

/* Whether an attribute is that of a release before 1.8, whose key is a text. */
static bool otlp_layout_is_ancient(const struct otlp_tables *t)
{
	for (size_t i = 0; i < otlp_tables_size(t, OTLP_ATTRIBUTE); i++) {
		struct wire w =
			wire_init(otlp_tables_get(t, OTLP_ATTRIBUTE, i));
		struct wire_field f = { 0 };

		while (wire_next(&w, &f)) {
			if (f.number == 1)
				return f.type == WIRE_BYTES;
		}
	}
	return false;
}

int otlp_layout_find(const struct otlp_tables *t, struct otlp_layout *out,
		     struct err *err)
{
	struct layout_search s = { .t = t };
	struct wire w = wire_init(t->message);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			otlp_layout_look_resource(&s, f.bytes);
	}
	*out = (struct otlp_layout){ .is_old = s.fit_old > s.fit_new,
				     .has_comment = s.has_comment,
				     .fits_all = s.fit_new == s.samples ||
						 s.fit_old == s.samples };
	if (s.is_ancient || otlp_layout_is_ancient(t))
		return err_set(
			err, ERR_INVALID,
			"the request has the format of OTLP profiles 1.7 or earlier: use a sender with OTLP profiles 1.8 or later");
	if (s.samples && !s.fit_new && !s.fit_old)
		return err_set(
			err, ERR_INVALID,
			"the samples do not fit any release of OTLP profiles from 1.8 to 1.11, or refer to entries that are not in the dictionary");
	return 0;
}

/* Append an index of an attribute to a list, which may have `max` in all. */
static int otlp_profile_index(const struct otlp_tables *t, uint64_t index,
			      size_t max, struct otlp_indexes *list,
			      struct err *err)
{
	if (index >= otlp_tables_size(t, OTLP_ATTRIBUTE))
		return err_set(err, ERR_INVALID,
			       "an index refers to no entry of the dictionary");
	if (list->count >= max)
		return err_set(
			err, ERR_INVALID,
			"a sample or profile has more than %d attributes",
			OTLP_ATTRIBUTES_MAX);
	*vec_add(list) = (uint32_t)index;
	return 0;
}

/* Append the indexes of a field. */
static int otlp_profile_indexes(const struct otlp_tables *t,
				const struct wire_field *f, size_t max,
				struct otlp_indexes *list, struct err *err)
{
	struct wire w = otlp_inside(f);
	uint64_t index;
	int rc = 0;

	if (f->type == WIRE_VARINT)
		return otlp_profile_index(t, f->value, max, list, err);
	while (!rc && otlp_number_next(&w, &index))
		rc = otlp_profile_index(t, index, max, list, err);
	return rc || !w.bad ? rc : otlp_profile_malformed(err);
}

/* Add up the values of a field, and return how many there are. */
static size_t otlp_profile_add_values(const struct wire_field *f, int64_t *sum)
{
	struct wire w = otlp_inside(f);
	size_t count = f->type == WIRE_VARINT;
	uint64_t v;

	if (f->type == WIRE_VARINT)
		*sum = wrap_add(*sum, (int64_t)f->value);
	for (; otlp_number_next(&w, &v); count++)
		*sum = wrap_add(*sum, (int64_t)v);
	return count;
}

/* A sample that is being read. */
struct sample_reading {
	const struct otlp_tables *t;
	const struct sample_fields *n;
	struct otlp_profile *p;
	size_t attributes_max; /* of all samples together, with this one */
	struct otlp_sample s;
	size_t values;
	int64_t sum;
	int64_t times;
};

/* Read one field of a sample, whose stack and link were checked. */
static int otlp_profile_sample_field(struct sample_reading *r,
				     const struct wire_field *f,
				     struct err *err)
{
	if (f->number == r->n->stack) {
		r->s.stack = (uint32_t)f->value;
	} else if (f->number == r->n->link) {
		r->s.link = (uint32_t)f->value;
	} else if (f->number == r->n->attributes) {
		return otlp_profile_indexes(r->t, f, r->attributes_max,
					    &r->p->attributes, err);
	} else if (f->number == r->n->values) {
		r->values += otlp_profile_add_values(f, &r->sum);
	} else if (f->number == FIELD_TIMESTAMPS) {
		r->times +=
			f->type == WIRE_BYTES ? (int64_t)(f->bytes.len / 8) : 1;
	}
	return 0;
}

/* Read a sample. */
static int otlp_profile_sample(const struct otlp_reader *reader,
			       struct bytes sample, struct otlp_profile *p,
			       struct err *err)
{
	size_t before = p->attributes.count;
	struct sample_reading r = {
		.t = reader->t,
		.n = reader->layout->is_old ? &fields_old : &fields_new,
		.p = p,
		.attributes_max = before + OTLP_ATTRIBUTES_MAX,
	};
	struct wire w = wire_init(sample);
	struct wire_field f = { 0 };
	int rc = 0;

	if (!reader->layout->fits_all && !otlp_look_sample(r.t, r.n, sample))
		return err_set(
			err, ERR_INVALID,
			"a sample is malformed, or refers to an entry that is not in the dictionary");
	while (!rc && wire_next(&w, &f))
		rc = otlp_profile_sample_field(&r, &f, err);
	if (rc || w.bad)
		return rc ? rc : otlp_profile_malformed(err);
	r.s.attributes =
		(struct pprof_run){ (uint32_t)before,
				    (uint32_t)(p->attributes.count - before) };
	*vec_add(&p->samples) = r.s;
	/* Without values, each time counts 1. */
	*vec_add(&p->values) = r.values ? r.sum : r.times;
	convert_meter_note(reader->meter, sample.len);
	return convert_meter_ask(reader->meter, err);
}

/* Read a type of values. */
static int otlp_profile_type(const struct otlp_tables *t, struct bytes message,
			     struct otlp_type *out, struct err *err)
{
	size_t texts = otlp_tables_size(t, OTLP_STRING);
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };

	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_VARINT)
			out->type = f.value;
		else if (f.number == 2 && f.type == WIRE_VARINT)
			out->unit = f.value;
	}
	if (w.bad)
		return otlp_profile_malformed(err);
	if ((out->type && out->type >= texts) ||
	    (out->unit && out->unit >= texts))
		return err_set(
			err, ERR_INVALID,
			"a sample type refers to a text that is not in the dictionary");
	return 0;
}

/* Read a field of a profile that comes after the samples. */
static int otlp_profile_late_field(const struct otlp_tables *t,
				   const struct wire_field *f, uint64_t number,
				   struct otlp_profile *p, struct err *err)
{
	/* By the numbers of 1.9 and later; 7 is the id, 8 what was dropped. */
	if (number == 9 && f->type == WIRE_BYTES)
		p->payload_format = str_from(f->bytes);
	else if (number == 10 && f->type == WIRE_BYTES)
		p->payload = f->bytes;
	else if (number == 11)
		return otlp_profile_indexes(t, f, OTLP_ATTRIBUTES_MAX,
					    &p->own_attributes, err);
	return 0;
}

/* Read a field of a profile. */
static int otlp_profile_field(const struct otlp_reader *r,
			      const struct wire_field *f,
			      struct otlp_profile *p, struct err *err)
{
	uint64_t number = f->number;

	if (number == 1 && f->type == WIRE_BYTES)
		return otlp_profile_type(r->t, f->bytes, &p->type, err);
	if (number == 2 && f->type == WIRE_BYTES)
		return otlp_profile_sample(r, f->bytes, p, err);
	if (number == 3 && f->type == WIRE_64)
		p->time_ns = f->value;
	else if (number == 4 && f->type == WIRE_VARINT)
		p->duration_ns = f->value;
	else if (number == 5 && f->type == WIRE_BYTES)
		return otlp_profile_type(r->t, f->bytes, &p->period_type, err);
	else if (number == 6 && f->type == WIRE_VARINT)
		p->period = (int64_t)f->value;
	/* Comments come before the others in 1.8. */
	return otlp_profile_late_field(
		r->t, f,
		r->layout->has_comment && number > 7 ? number - 1 : number, p,
		err);
}

int otlp_profile_read(const struct otlp_reader *r, struct bytes profile,
		      struct otlp_profile *out, struct err *err)
{
	struct wire w = wire_init(profile);
	struct wire_field f = { 0 };
	int rc = 0;

	out->type = out->period_type = (struct otlp_type){ 0, 0 };
	out->period = 0;
	out->time_ns = out->duration_ns = 0;
	out->payload_format = str_of("");
	out->payload = (struct bytes){ .ptr = NULL, .len = 0 };
	out->samples.count = 0;
	out->values.count = 0;
	out->attributes.count = 0;
	out->own_attributes.count = 0;
	while (!rc && wire_next(&w, &f))
		rc = otlp_profile_field(r, &f, out, err);
	if (!rc && w.bad)
		rc = otlp_profile_malformed(err);
	return rc;
}

bool otlp_profile_same_samples(const struct otlp_profile *a,
			       const struct otlp_profile *b)
{
	size_t samples = a->samples.count;
	size_t attributes = a->attributes.count;

	return a->time_ns == b->time_ns && a->duration_ns == b->duration_ns &&
	       a->period == b->period &&
	       a->period_type.type == b->period_type.type &&
	       a->period_type.unit == b->period_type.unit && !a->payload.len &&
	       !b->payload.len && samples && samples == b->samples.count &&
	       attributes == b->attributes.count &&
	       a->own_attributes.count == b->own_attributes.count &&
	       !memcmp(a->samples.v, b->samples.v,
		       samples * sizeof(*a->samples.v)) &&
	       (!attributes ||
		!memcmp(a->attributes.v, b->attributes.v,
			attributes * sizeof(*a->attributes.v))) &&
	       (!a->own_attributes.count ||
		!memcmp(a->own_attributes.v, b->own_attributes.v,
			a->own_attributes.count *
				sizeof(*a->own_attributes.v)));
}

size_t otlp_profile_memory(const struct otlp_profile *p)
{
	return vec_memory(&p->samples) + vec_memory(&p->values) +
	       vec_memory(&p->attributes) + vec_memory(&p->own_attributes);
}

void otlp_profile_fini(struct otlp_profile *p)
{
	vec_fini(&p->samples);
	vec_fini(&p->values);
	vec_fini(&p->attributes);
	vec_fini(&p->own_attributes);
}
