/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/otlp/otlp_convert.h"

#include "convert/otlp/otlp_build.h"
#include "convert/otlp/otlp_group.h"

enum {
	/* Largest number of sample types of one profile of pprof. */
	COLUMNS_MAX = OTLP_COLUMNS_MAX - 1,
	/* Largest number of services of one profile. */
	SERVICES_MAX = 1000
};

/* The values of a sample type. */
struct converted_column {
	struct value_type type;
	VEC(int64_t) values;
};

/* Whether something of a profile was refused; a vector by number of the profile. */
struct refused_profiles {
	bool *v;
	size_t count;
	size_t cap;
};

/* A conversion. */
struct converting {
	const struct otlp_options *o;
	struct otlp_tables t;
	struct otlp_layout layout;
	struct otlp_build build;
	struct otlp_groups groups;
	/* The resource: labels of series, and labels of samples. */
	struct labels_builder series;
	VEC(struct otlp_attribute) others;
	struct arena arena; /* texts of the resource */
	/*
	 * Profiles that have the same samples so far: the first of them, and the
	 * values of all.
	 */
	struct otlp_profile open;
	struct otlp_profile next;
	struct converted_column columns[COLUMNS_MAX];
	uint32_t numbers[COLUMNS_MAX]; /* of the profiles */
	size_t column_count;           /* 0: there is no open profile */
	/* By attribute: whether it is the name of a service. */
	VEC(bool) names_service;
	bool has_services;
	/* Of the samples of the open profile, and each once; 0: of the resource. */
	struct otlp_indexes sample_services;
	struct otlp_indexes services;
	size_t attributes; /* of the resource, read so far */
	struct refused_profiles refused;
	struct buf out;  /* an encoded profile */
	size_t encoding; /* bytes that it may take before it is there */
	struct convert_meter meter;
	bool has_ended; /* there is no time or memory left */
};

/* Return what everything takes, in bytes. */
static size_t otlp_convert_memory(const struct converting *c)
{
	size_t columns = 0;

	for (size_t i = 0; i < COLUMNS_MAX; i++)
		columns += vec_memory(&c->columns[i].values);
	return columns + otlp_tables_memory(&c->t) +
	       otlp_build_index_memory(&c->t) + otlp_build_memory(&c->build) +
	       otlp_profile_memory(&c->open) + otlp_profile_memory(&c->next) +
	       vec_memory(&c->sample_services) + vec_memory(&c->services) +
	       vec_memory(&c->names_service) + vec_memory(&c->refused) +
	       vec_memory(&c->others) + c->arena.used + c->series.arena.used +
	       c->groups.memory + c->out.cap + c->encoding;
}

/* Implement convert_meter.look. Only the last error is about a single profile. */
static int otlp_convert_look(void *ctx, struct err *err)
{
	struct converting *c = ctx;
	int rc =
		convert_caller_look(&c->o->caller, otlp_convert_memory(c), err);

	c->has_ended = rc != 0;
	if (!rc && otlp_build_memory(&c->build) > c->o->caller.max_profile)
		rc = err_set(err, ERR_TOOBIG,
			     "the profile takes more than %zu bytes of memory",
			     c->o->caller.max_profile);
	return rc;
}

/* Whether an error is about a single profile, and the others can be converted. */
static bool otlp_convert_is_single(const struct converting *c, int rc)
{
	return !c->has_ended &&
	       (rc == ERR_INVALID || rc == ERR_TOOBIG || rc == ERR_CORRUPT);
}

/* Note that profiles are refused. */
static void otlp_convert_note_refused(struct converting *c,
				      const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		c->refused.v[numbers[i]] = true;
}

/* Refuse profiles, and return 0, if an error is about them alone. */
static int otlp_convert_judge(struct converting *c, const uint32_t *numbers,
			      size_t count, int rc, const struct err *err)
{
	if (!rc || !otlp_convert_is_single(c, rc))
		return rc;
	otlp_convert_note_refused(c, numbers, count);
	c->o->refuse(c->o->caller.ctx, err);
	return 0;
}

/* Number the next profile. */
static int otlp_convert_number(struct converting *c, uint32_t *out,
			       struct err *err)
{
	if (c->refused.count >= OTLP_PROFILES_MAX) {
		c->has_ended = true;
		return err_set(err, ERR_TOOBIG,
			       "the request has more than %d profiles",
			       OTLP_PROFILES_MAX);
	}
	*out = (uint32_t)c->refused.count;
	*vec_add(&c->refused) = false;
	convert_meter_note(&c->meter, 0);
	return convert_meter_ask(&c->meter, err);
}

/* Return the value of an attribute as a text. */
static struct str otlp_convert_text(struct converting *c,
				    const struct otlp_attribute *a)
{
	if (!a->is_number)
		return a->text;
	return str_of(arena_printf(&c->arena, "%lld", (long long)a->number));
}

/* Whether an attribute of a resource becomes a label of the series. */
static bool otlp_convert_is_series(const struct otlp_options *o, struct str key)
{
	for (size_t i = 0; i < o->resource_label_count; i++) {
		struct str name = o->resource_labels[i];
		bool is_prefix = name.len && name.ptr[name.len - 1] == '*';

		if (is_prefix)
			name.len--;
		if (is_prefix ? str_starts(key, name) : str_eq(key, name))
			return true;
	}
	return false;
}

/* Take an attribute of the resource. */
static int otlp_convert_attribute(struct converting *c, struct bytes pair,
				  struct err *err)
{
	struct otlp_attribute a;
	int rc;

	if (c->attributes++ == OTLP_ATTRIBUTES_MAX)
		return err_set(err, ERR_INVALID,
			       "a resource has more than %d attributes",
			       OTLP_ATTRIBUTES_MAX);
	rc = otlp_value_read_pair(&c->t, pair, &c->arena, &a, err);
	convert_meter_note(&c->meter, pair.len + (rc ? 0 : a.text.len));
	if (!rc)
		rc = convert_meter_ask(&c->meter, err);
	if (rc || !a.key.len)
		return rc;
	if (!otlp_convert_is_series(c->o, a.key)) {
		*vec_add(&c->others) = a;
		return 0;
	}
	if (str_is(a.key, "service.name"))
		a.key = str_of("service_name");
	labels_set(&c->series, a.key, otlp_convert_text(c, &a));
	return 0;
}

/* A service without a name is called after its program. */
static void otlp_convert_name_service(struct converting *c)
{
	struct str exe = labels_builder_get(&c->series,
					    str_of("process.executable.name"));
	char *name;

	if (labels_builder_get(&c->series, str_of("service_name")).len)
		return;
	for (size_t i = 0; i < c->others.count && !exe.len; i++) {
		if (str_is(c->others.v[i].key, "process.executable.name"))
			exe = c->others.v[i].text;
	}
	if (!exe.len)
		return;
	name = arena_printf(&c->arena, "unknown_service:%.*s",
			    STR_ARG(str_clip(exe, 200)));
	labels_set(&c->series, str_of("service_name"), str_of(name));
}

/* Take the attributes of a resource. */
static int otlp_convert_resource(struct converting *c, struct bytes resource,
				 struct err *err)
{
	struct wire w = wire_init(resource);
	struct wire_field f = { 0 };
	int rc = 0;

	while (!rc && wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			rc = otlp_convert_attribute(c, f.bytes, err);
	}
	if (!rc && w.bad)
		rc = err_set(err, ERR_INVALID,
			     "a resource is malformed or truncated");
	return rc;
}

/* Find out which attributes of the dictionary are names of services. */
static void otlp_convert_find_services(struct converting *c)
{
	size_t count = otlp_tables_size(&c->t, OTLP_ATTRIBUTE);

	vec_reserve(&c->names_service, count + 1);
	for (size_t i = 0; i < count; i++) {
		struct bytes entry = otlp_tables_get(&c->t, OTLP_ATTRIBUTE, i);
		bool names =
			str_is(otlp_value_key(&c->t, entry), "service.name");

		*vec_add(&c->names_service) = names;
		c->has_services |= names;
	}
}

/* Return the attribute that names the service of a sample; 0: there is none. */
static uint32_t otlp_convert_service(const struct converting *c,
				     const struct otlp_sample *s)
{
	for (uint32_t i = 0; i < s->attributes.count && c->has_services; i++) {
		uint32_t index = c->open.attributes.v[s->attributes.first + i];

		if (c->names_service.v[index])
			return index;
	}
	return 0;
}

/* Note the service of a sample in the list of those of the open profile. */
static int otlp_convert_list_service(struct converting *c, uint32_t service,
				     struct err *err)
{
	size_t k = 0;

	while (k < c->services.count && c->services.v[k] != service)
		k++;
	convert_meter_note(&c->meter, k);
	if (k < c->services.count)
		return convert_meter_ask(&c->meter, err);
	if (k == SERVICES_MAX)
		return err_set(err, ERR_INVALID,
			       "a profile has samples of more than %d services",
			       SERVICES_MAX);
	*vec_add(&c->services) = service;
	return 0;
}

/* Collect the services of the samples of the open profile. */
static int otlp_convert_list_services(struct converting *c, struct err *err)
{
	int rc = 0;

	c->services.count = 0;
	c->sample_services.count = 0;
	for (size_t i = 0; i < c->open.samples.count && !rc; i++) {
		const struct otlp_sample *s = &c->open.samples.v[i];
		uint32_t service = otlp_convert_service(c, s);

		*vec_add(&c->sample_services) = service;
		convert_meter_note(&c->meter, s->attributes.count);
		rc = otlp_convert_list_service(c, service, err);
	}
	return rc;
}

/*
 * Return the time that a sample type is, "cpu" or "wall"; NULL: it is none. The
 * profilers of Java name theirs after the ways by which async-profiler samples.
 */
static const char *otlp_convert_time(const struct value_type *type,
				     const struct value_type *period)
{
	static const struct {
		const char *type;
		const char *period;
		const char *time;
	} times[] = {
		{ "samples", "cpu", "cpu" },
		{ "cpu", "cpu", "cpu" },
		{ "itimer", "itimer", "cpu" },
		{ "ctimer", "ctimer", "cpu" },
		{ "perf_events", "perf_events", "cpu" },
		{ "wall", "wall", "wall" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if (str_is(type->type, times[i].type) &&
		    str_is(period->type, times[i].period))
			return times[i].time;
	}
	return NULL;
}

/* Whether a unit is that of nanoseconds. */
static bool otlp_convert_is_ns(struct str unit)
{
	return str_is(unit, "nanoseconds") || str_is(unit, "ns");
}

/*
 * Give a single column that is a time the type that it has in profiles of Go. Samples
 * that are counted at a rate become two columns: their number, and the time.
 */
static void otlp_convert_name_time(const struct converting *c,
				   struct otlp_columns *out)
{
	struct otlp_column *first = &out->v[0];
	const char *time = otlp_convert_time(&first->type, &out->period_type);
	const struct value_type named = { str_of(time), str_of("nanoseconds") };

	if (!time || !otlp_convert_is_ns(out->period_type.unit))
		return;
	if (otlp_convert_is_ns(first->type.unit)) {
		first->type = named;
	} else if (str_is(first->type.unit, "count") && c->open.period > 0) {
		first->type.type = str_of("samples");
		out->v[1] = (struct otlp_column){ named, first->values,
						  c->open.period };
		out->count = 2;
	} else {
		return;
	}
	out->period_type = named;
}

/* Set the columns of the profile of pprof. */
static void otlp_convert_columns(const struct converting *c,
				 struct otlp_columns *out)
{
	const struct otlp_type *period = &c->open.period_type;

	out->count = c->column_count;
	out->period_type =
		(struct value_type){ otlp_tables_text(&c->t, period->type),
				     otlp_tables_text(&c->t, period->unit) };
	for (size_t i = 0; i < c->column_count; i++)
		out->v[i] = (struct otlp_column){ c->columns[i].type,
						  c->columns[i].values.v, 1 };
	if (out->count == 1)
		otlp_convert_name_time(c, out);
}

/* Set the labels of the series of the open profile. */
static int otlp_convert_labels(struct converting *c, uint32_t service,
			       const struct otlp_columns *columns,
			       struct labels_builder *out, struct err *err)
{
	struct typeset *types = mem_new(struct typeset);
	struct otlp_attribute a;
	int rc = 0;

	for (size_t i = 0; i < c->series.count; i++)
		labels_set(out, c->series.v[i].name, c->series.v[i].value);
	if (service)
		rc = otlp_build_attribute(&c->build, service, &a, err);
	/* An empty name is none: the resource has the name. */
	if (service && !rc && (a.is_number || a.text.len))
		labels_set(out, str_of("service_name"),
			   otlp_convert_text(c, &a));
	for (; columns && types->count < columns->count; types->count++)
		types->types[types->count] = columns->v[types->count].type;
	if (!rc && columns)
		labels_set(out, str_of(LABEL_NAME), c->o->name(types));
	mem_free(types);
	return rc;
}

/* Put the labels of the profile, and of the resource, on all samples. */
static int otlp_convert_fixed(struct converting *c, struct err *err)
{
	struct otlp_attribute own;
	int rc = 0;

	for (size_t i = 0; i < c->open.own_attributes.count && !rc; i++) {
		rc = otlp_build_attribute(
			&c->build, c->open.own_attributes.v[i], &own, err);
		if (!rc)
			otlp_build_label(&c->build, &own);
	}
	for (size_t i = 0; i < c->others.count; i++)
		otlp_build_label(&c->build, &c->others.v[i]);
	return rc;
}

/* Build the samples that the open profile has of a service. */
static int otlp_convert_samples(struct converting *c, uint32_t service,
				const struct otlp_columns *columns,
				struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < c->open.samples.count && !rc; i++) {
		if (c->sample_services.v[i] == service)
			rc = otlp_build_add(&c->build, &c->open, columns, i,
					    err);
	}
	convert_meter_note(&c->meter, c->open.samples.count);
	return rc ? rc : convert_meter_ask(&c->meter, err);
}

/* Build what the open profile has of a service. */
static int otlp_convert_build(struct converting *c, uint32_t service,
			      const struct otlp_columns *columns,
			      struct err *err)
{
	const struct otlp_members members = { c->numbers, c->column_count };
	struct labels_builder labels = { 0 };
	int rc;

	otlp_build_begin(&c->build, &c->open, columns);
	rc = otlp_convert_fixed(c, err);
	if (!rc)
		rc = otlp_convert_samples(c, service, columns, err);
	if (!rc)
		rc = otlp_convert_labels(c, service, columns, &labels, err);
	if (!rc)
		rc = otlp_groups_add(&c->groups, &labels, &c->build.p, &members,
				     err);
	convert_meter_note(&c->meter, otlp_build_memory(&c->build) +
					      labels.arena.used * 3);
	labels_builder_fini(&labels);
	return rc ? rc : convert_meter_ask(&c->meter, err);
}

/* Store what the sender has sent as a profile of pprof beside its own message. */
static int otlp_convert_payload(struct converting *c, struct err *err)
{
	struct labels_builder labels = { 0 };
	bool refused = false;
	int rc = otlp_convert_labels(c, 0, NULL, &labels, err);

	if (!rc)
		rc = c->o->caller.store(c->o->caller.ctx, &labels,
					c->open.payload, &refused, err);
	if (!rc && refused)
		otlp_convert_note_refused(c, c->numbers, c->column_count);
	labels_builder_fini(&labels);
	return rc;
}

/* Build the open profile, for each service of its samples. */
static int otlp_convert_build_all(struct converting *c, struct err *err)
{
	struct otlp_columns columns;
	int rc = otlp_convert_list_services(c, err);

	otlp_convert_columns(c, &columns);
	for (size_t i = 0; i < c->services.count && !rc; i++)
		rc = otlp_convert_build(c, c->services.v[i], &columns, err);
	if (rc)
		otlp_build_clear(&c->build);
	return rc;
}

/* Convert the open profile, if there is one. */
static int otlp_convert_close(struct converting *c, struct err *err)
{
	size_t count = c->column_count;
	int rc;

	if (!count)
		return 0;
	if (c->open.payload.len && str_is(c->open.payload_format, "pprof"))
		rc = otlp_convert_payload(c, err);
	else
		rc = otlp_convert_build_all(c, err);
	c->column_count = 0;
	return otlp_convert_judge(c, c->numbers, count, rc, err);
}

/* Make the values of the profile that was read a column of the open one. */
static void otlp_convert_add_column(struct converting *c, uint32_t number)
{
	struct converted_column *column = &c->columns[c->column_count];

	c->numbers[c->column_count++] = number;
	column->type.type = otlp_tables_text(&c->t, c->next.type.type);
	column->type.unit = otlp_tables_text(&c->t, c->next.type.unit);
	column->values.count = 0;
	vec_reserve(&column->values, c->next.values.count);
	for (size_t i = 0; i < c->next.values.count; i++)
		*vec_add(&column->values) = c->next.values.v[i];
	convert_meter_note(&c->meter, vec_memory(&column->values));
}

/*
 * Whether the profile that was read has the samples of the open one, and another
 * sample type.
 */
static bool otlp_convert_belongs(const struct converting *c)
{
	struct str type = otlp_tables_text(&c->t, c->next.type.type);

	for (size_t i = 0; i < c->column_count; i++) {
		if (str_eq(c->columns[i].type.type, type))
			return false;
	}
	return c->column_count && c->column_count < COLUMNS_MAX &&
	       otlp_profile_same_samples(&c->open, &c->next);
}

/* Take a profile: it belongs to the open one, or that one is complete. */
static int otlp_convert_profile(struct converting *c, struct bytes profile,
				struct err *err)
{
	const struct otlp_reader reader = { &c->t, &c->layout, &c->meter };
	struct otlp_profile was = c->open;
	uint32_t number;
	int rc = otlp_convert_number(c, &number, err);

	if (rc)
		return rc;
	rc = otlp_profile_read(&reader, profile, &c->next, err);
	if (rc)
		return otlp_convert_judge(c, &number, 1, rc, err);
	if (otlp_convert_belongs(c)) {
		otlp_convert_add_column(c, number);
		return 0;
	}
	rc = otlp_convert_close(c, err);
	otlp_convert_add_column(c, number);
	c->open = c->next;
	c->next = was;
	return rc;
}

/* Set the labels of a scope: its name and version. */
static int otlp_convert_scope_labels(struct converting *c, struct bytes scope,
				     struct err *err)
{
	struct wire w = wire_init(scope);
	struct wire_field f = { 0 };
	struct str name = str_of("");
	struct str version = str_of("");

	while (wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			name = str_from(f.bytes);
		else if (f.number == 2 && f.type == WIRE_BYTES)
			version = str_from(f.bytes);
	}
	labels_set(&c->series, str_of("otel.scope.name"), name);
	labels_set(&c->series, str_of("otel.scope.version"), version);
	convert_meter_note(&c->meter, scope.len);
	if (w.bad)
		return err_set(err, ERR_INVALID,
			       "a scope is malformed or truncated");
	return convert_meter_ask(&c->meter, err);
}

/* Refuse all profiles of a scope for the reason in `err`, which an error replaces. */
static int otlp_convert_refuse_scope(struct converting *c, struct bytes scope,
				     struct err *err)
{
	struct wire w = wire_init(scope);
	const struct err why = *err;
	struct bytes profile;
	uint32_t number;
	int rc = 0;

	while (!rc && otlp_profile_next(&w, &profile)) {
		rc = otlp_convert_number(c, &number, err);
		if (!rc)
			rc = otlp_convert_judge(c, &number, 1, why.code, &why);
	}
	return rc;
}

/* Convert the profiles of a scope. */
static int otlp_convert_scope(struct converting *c, struct bytes scope,
			      struct err *err)
{
	struct wire w = wire_init(scope);
	struct bytes profile;
	struct wire_field f = { 0 };
	int rc = 0;

	labels_set(&c->series, str_of("otel.scope.name"), str_of(""));
	labels_set(&c->series, str_of("otel.scope.version"), str_of(""));
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			rc = otlp_convert_scope_labels(c, f.bytes, err);
	}
	if (otlp_convert_is_single(c, rc))
		return otlp_convert_refuse_scope(c, scope, err);
	w = wire_init(scope);
	while (!rc && otlp_profile_next(&w, &profile))
		rc = otlp_convert_profile(c, profile, err);
	if (!rc && w.bad)
		rc = err_set(err, ERR_INVALID, "the message is malformed");
	return rc ? rc : otlp_convert_close(c, err);
}

/* The same for all profiles of a resource. */
static int otlp_convert_refuse_all(struct converting *c, struct bytes profiles,
				   struct err *err)
{
	struct wire w = wire_init(profiles);
	struct wire_field f = { 0 };
	int rc = 0;

	while (!rc && wire_next(&w, &f)) {
		if (f.number == 2 && f.type == WIRE_BYTES)
			rc = otlp_convert_refuse_scope(c, f.bytes, err);
	}
	return rc;
}

/* Convert the profiles of a resource, whose fields may have any order. */
static int otlp_convert_resources(struct converting *c, struct bytes profiles,
				  struct err *err)
{
	struct wire w = wire_init(profiles);
	struct wire_field f = { 0 };
	int rc = 0;

	labels_builder_fini(&c->series);
	arena_fini(&c->arena);
	c->others.count = 0;
	c->attributes = 0;
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			rc = otlp_convert_resource(c, f.bytes, err);
	}
	if (otlp_convert_is_single(c, rc))
		return otlp_convert_refuse_all(c, profiles, err);
	if (rc)
		return rc;
	otlp_convert_name_service(c);
	w = wire_init(profiles);
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 2 && f.type == WIRE_BYTES)
			rc = otlp_convert_scope(c, f.bytes, err);
	}
	return rc || !w.bad ?
		       rc :
		       err_set(err, ERR_INVALID, "the message is malformed");
}

/* Encode a group, and store it. */
static int otlp_convert_store_group(struct converting *c, size_t i,
				    struct err *err)
{
	struct otlp_group *g = &c->groups.v.v[i];
	bool refused = false;
	int rc;

	/* Series and time would be those of another profile. */
	if (otlp_groups_collide(&c->groups, i))
		labels_set(&g->labels, str_of(LABEL_PART), otlp_groups_type(g));
	c->encoding = merge_memory(g->merge);
	rc = otlp_convert_look(c, err);
	c->encoding = 0;
	if (rc)
		return rc;
	buf_reset(&c->out);
	c->out.over = false;
	otlp_groups_encode(&c->groups, i, &c->out);
	if (c->out.over)
		rc = err_set(err, ERR_TOOBIG,
			     "a converted profile has more than %zu bytes",
			     c->o->caller.max_profile);
	else
		rc = c->o->caller.store(c->o->caller.ctx, &g->labels,
					buf_bytes(&c->out), &refused, err);
	if (!rc && refused)
		otlp_convert_note_refused(c, g->members.v, g->members.count);
	return otlp_convert_judge(c, g->members.v, g->members.count, rc, err);
}

/* Store what the groups have. */
static int otlp_convert_store(struct converting *c, struct err *err)
{
	int rc = 0;

	otlp_build_clear(&c->build);
	c->out = buf_init(c->o->caller.max_profile);
	for (size_t i = 0; i < c->groups.v.count && !rc; i++)
		rc = otlp_convert_store_group(c, i, err);
	buf_fini(&c->out);
	return rc;
}

/* Convert the request by the index of its dictionary. */
static int otlp_convert_run(struct converting *c, struct bytes message,
			    struct err *err)
{
	struct wire w = wire_init(message);
	struct wire_field f = { 0 };
	int rc = otlp_layout_find(&c->t, &c->layout, err);

	if (rc)
		return rc;
	otlp_convert_find_services(c);
	while (!rc && wire_next(&w, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			rc = otlp_convert_resources(c, f.bytes, err);
	}
	return rc ? rc : otlp_convert_store(c, err);
}

/* Free everything. */
static void otlp_convert_fini(struct converting *c)
{
	otlp_groups_fini(&c->groups);
	otlp_build_fini(&c->build);
	otlp_tables_fini(&c->t);
	otlp_profile_fini(&c->open);
	otlp_profile_fini(&c->next);
	for (size_t i = 0; i < COLUMNS_MAX; i++)
		vec_fini(&c->columns[i].values);
	labels_builder_fini(&c->series);
	vec_fini(&c->others);
	vec_fini(&c->names_service);
	vec_fini(&c->services);
	vec_fini(&c->sample_services);
	vec_fini(&c->refused);
	arena_fini(&c->arena);
}

/* Count the profiles of the request, and those that were refused. */
static struct otlp_result otlp_convert_result(const struct converting *c)
{
	struct otlp_result out = { .profiles = c->refused.count };

	for (size_t i = 0; i < c->refused.count; i++)
		out.refused += c->refused.v[i];
	return out;
}

int otlp_convert(struct bytes message, const struct otlp_options *o,
		 struct otlp_result *out, struct err *err)
{
	struct converting *c = mem_new(struct converting);
	size_t entries = 0;
	bool has;
	int rc = otlp_tables_count(message, &has, &entries, err);

	c->o = o;
	c->meter =
		(struct convert_meter){ .look = otlp_convert_look, .ctx = c };
	if (!rc && !has && message.len)
		rc = err_set(
			err, ERR_INVALID,
			"the request has no dictionary: it has the format of OTLP profiles 1.6 or earlier, or is not a request of OTLP profiles at all; use a sender with OTLP profiles 1.8 or later");
	/* The index, which grows by doubling, and the builder's places of it. */
	if (!rc)
		rc = o->caller.take(o->caller.ctx, entries * 32, err);
	if (!rc) {
		otlp_tables_init(&c->t, message);
		otlp_build_init(&c->build, &c->t, &c->meter);
		rc = otlp_convert_run(c, message, err);
	}
	*out = otlp_convert_result(c);
	otlp_convert_fini(c);
	mem_free(c);
	return rc;
}
