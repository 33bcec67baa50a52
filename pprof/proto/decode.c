/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/decode.h"

#include "pprof/legacy/legacy.h"
#include "pprof/proto/proto_reader.h"

/* The state of a decoder. */
struct decoder {
	struct proto_reader reader;
	struct pprof p;
	/*
	 * The mapping id of each location and the function id of each line,
	 * kept until all ids are known.
	 */
	VEC(uint64_t) location_mappings;
	VEC(uint64_t) line_functions;
	/* how much of the profile the locations and samples so far have */
	uint32_t lines_taken;
	uint32_t frames_taken;
	uint32_t labels_taken;
	struct legacy *legacy;
	size_t max;    /* memory bound in bytes */
	size_t memory; /* estimate of the memory used, in bytes */
	bool over;     /* whether the memory bound was exceeded */
};

/*
 * Return whether an array may grow by one element of `size` bytes. The growth
 * is added to the memory estimate before memory is allocated, so that a hostile
 * profile is refused in time.
 */
static inline bool decode_has_room(struct decoder *d, size_t count, size_t cap,
				   size_t size)
{
	if (count < cap)
		return true;
	d->memory += (cap / 2 + 4) * size;
	if (d->memory <= d->max && count < UINT32_MAX - 1)
		return true;
	d->over = true;
	return proto_reader_refuse(&d->reader,
				   "the profile takes too much memory");
}

/*
 * Evaluates to a new element of a vector, or to NULL if the memory bound
 * forbids it.
 */
#define decode_add(d, vec)                                                 \
	(decode_has_room(d, (vec)->count, (vec)->cap, sizeof(*(vec)->v)) ? \
		 vec_add(vec) :                                            \
		 NULL)

/*
 * Return whether an array may grow by n elements of `size` bytes. Like
 * decode_has_room(), adds the growth to the memory estimate first.
 */
static inline bool decode_reserve(struct decoder *d, size_t count, size_t cap,
				  size_t n, size_t size)
{
	if (n <= cap - count)
		return true;
	d->memory += (cap / 2 + n) * size;
	if (d->memory <= d->max && count + n < UINT32_MAX - 1)
		return true;
	d->over = true;
	return proto_reader_refuse(&d->reader,
				   "the profile takes too much memory");
}

static bool decode_type(void *ctx, uint64_t type, uint64_t unit)
{
	struct decoder *d = ctx;
	struct pprof_type *t = decode_add(d, &d->p.types);

	if (!t)
		return false;
	/*
	 * Indexes of strings are kept with 32 bits. This is harmless: the reader
	 * compares all bits with the size of the string table.
	 */
	*t = (struct pprof_type){ .type = (uint32_t)type,
				  .unit = (uint32_t)unit };
	return true;
}

static bool decode_mapping(void *ctx, const uint64_t v[MAPPING_FIELDS])
{
	struct decoder *d = ctx;
	struct pprof_mapping *m = decode_add(d, &d->p.mappings);

	if (!m)
		return false;
	*m = (struct pprof_mapping){
		.start = v[MAPPING_START],
		.limit = v[MAPPING_LIMIT],
		.offset = v[MAPPING_OFFSET],
		.file = (uint32_t)v[MAPPING_FILE],
		.build_id = (uint32_t)v[MAPPING_BUILD_ID],
		.has_functions = v[MAPPING_HAS_FUNCTIONS],
		.has_filenames = v[MAPPING_HAS_FILENAMES],
		.has_lines = v[MAPPING_HAS_LINES],
		.has_inlines = v[MAPPING_HAS_INLINES],
	};
	return true;
}

/*
 * Add a function. Its place (array index) is the number of functions before it;
 * the reader assigns the same place to its id.
 */
static bool decode_function(void *ctx, const uint64_t v[FUNCTION_FIELDS])
{
	struct decoder *d = ctx;
	struct pprof_function *fn = decode_add(d, &d->p.functions);

	if (!fn)
		return false;
	*fn = (struct pprof_function){
		.name = (uint32_t)v[FUNCTION_NAME],
		.system_name = (uint32_t)v[FUNCTION_SYSTEM_NAME],
		.file = (uint32_t)v[FUNCTION_FILE],
		.start_line = (int64_t)v[FUNCTION_START_LINE],
	};
	return true;
}

/* Add a line. The id of its function is kept until all functions are known. */
static bool decode_line(void *ctx, const uint64_t v[LINE_FIELDS])
{
	struct decoder *d = ctx;
	struct pprof_line *l = decode_add(d, &d->p.lines);
	uint64_t *id = decode_add(d, &d->line_functions);

	if (!l || !id)
		return false;
	*id = v[LINE_FUNCTION];
	l->line = (int64_t)v[LINE_LINE];
	l->column = (int64_t)v[LINE_COLUMN];
	return true;
}

/*
 * Add a location. Its lines are those since the location before. The id of its
 * mapping is kept until all mappings are known.
 */
static bool decode_location(void *ctx, const uint64_t v[LOCATION_FOLDED + 1])
{
	struct decoder *d = ctx;
	struct pprof_location *l = decode_add(d, &d->p.locations);
	uint64_t *mapping_id = decode_add(d, &d->location_mappings);
	uint32_t first = d->lines_taken;

	if (!l || !mapping_id)
		return false;
	d->lines_taken = (uint32_t)d->p.lines.count;
	*mapping_id = v[LOCATION_MAPPING];
	*l = (struct pprof_location){
		.address = v[LOCATION_ADDRESS],
		.lines = { first, d->lines_taken - first },
		.folded = v[LOCATION_FOLDED],
	};
	return true;
}

/* Add a string, borrowed from the input. */
static bool decode_string(void *ctx, struct bytes text)
{
	struct decoder *d = ctx;
	struct str *s = decode_add(d, &d->p.strings.strings);

	if (!s)
		return false;
	*s = text.len ? str_from(text) : str_of("");
	return true;
}

static bool decode_comment(void *ctx, uint64_t text)
{
	struct decoder *d = ctx;
	uint32_t *c = decode_add(d, &d->p.comments);

	if (!c)
		return false;
	*c = (uint32_t)text;
	return true;
}

/*
 * Replace ids by places (array indexes) once all tables are read. As in pprof, a
 * location with an unknown mapping id has no mapping.
 */
static bool decode_sealed(void *ctx)
{
	struct decoder *d = ctx;
	struct pprof *p = &d->p;

	for (size_t i = 0; i < p->lines.count; i++) {
		p->lines.v[i].function = id_index_find(&d->reader.functions,
						       d->line_functions.v[i]);
		if (p->lines.v[i].function == ID_INDEX_NONE)
			return proto_reader_refuse_line(&d->reader);
	}
	for (size_t i = 0; i < p->locations.count; i++)
		p->locations.v[i].mapping = id_index_find(
			&d->reader.mappings, d->location_mappings.v[i]);
	return true;
}

/* Add one frame to the current stack: a location, given by its id. */
static bool decode_frame(void *ctx, uint64_t id)
{
	struct decoder *d = ctx;
	uint32_t *f = decode_add(d, &d->p.frames);

	if (!f)
		return false;
	*f = id_index_find(&d->reader.locations, id);
	return *f != ID_INDEX_NONE || proto_reader_refuse_location(&d->reader);
}

/*
 * Add the frames of a stack. They are the bulk of most profiles. A field has at
 * most as many varints as bytes, so memory for them is reserved at once, and the
 * loop needs no checks.
 */
static bool decode_frames(void *ctx, struct wire *ids)
{
	struct decoder *d = ctx;
	size_t count = d->p.frames.count;
	size_t room = (size_t)(ids->end - ids->pos);
	bool missing = false;
	uint32_t *out;

	if (!decode_reserve(d, count, d->p.frames.cap, room, sizeof(uint32_t)))
		return false;
	vec_reserve(&d->p.frames, room);
	out = d->p.frames.v + count;
	while (ids->pos < ids->end && !missing) {
		*out = id_index_find(&d->reader.locations, wire_varint(ids));
		missing = *out++ == ID_INDEX_NONE;
	}
	d->p.frames.count = (size_t)(out - d->p.frames.v);
	return proto_reader_ended(&d->reader, ids) &&
	       (!missing || proto_reader_refuse_location(&d->reader));
}

static bool decode_value(void *ctx, size_t i UNUSED, uint64_t value)
{
	struct decoder *d = ctx;
	int64_t *out = decode_add(d, &d->p.values);

	if (!out)
		return false;
	*out = (int64_t)value;
	return true;
}

/*
 * Add a label. As in pprof, a label with neither text nor unit and the number 0
 * is left out.
 */
static bool decode_label(void *ctx, const uint64_t v[LABEL_FIELDS])
{
	struct decoder *d = ctx;
	struct pprof_label *l;

	if (!v[LABEL_STR] && !v[LABEL_NUM] && !v[LABEL_UNIT])
		return true;
	l = decode_add(d, &d->p.labels);
	if (!l)
		return false;
	*l = (struct pprof_label){
		.key = (uint32_t)v[LABEL_KEY],
		.str = (uint32_t)v[LABEL_STR],
		.is_number = !v[LABEL_STR],
		.unit = v[LABEL_STR] ? 0 : (uint32_t)v[LABEL_UNIT],
		.num = v[LABEL_STR] ? 0 : (int64_t)v[LABEL_NUM],
	};
	return true;
}

/*
 * Complete a sample: its stack and its label set are the frames and labels since
 * the sample before. Each sample has its own; only merging joins equal ones.
 */
static bool decode_sample(void *ctx)
{
	struct decoder *d = ctx;
	struct pprof *p = &d->p;
	struct pprof_sample *s = decode_add(d, &p->samples);
	struct pprof_run *stack = decode_add(d, &p->stacks);
	struct pprof_run *labels = decode_add(d, &p->label_sets);

	if (!s || !stack || !labels)
		return false;
	*stack = (struct pprof_run){
		.first = d->frames_taken,
		.count = (uint32_t)p->frames.count - d->frames_taken,
	};
	*labels = (struct pprof_run){
		.first = d->labels_taken,
		.count = (uint32_t)p->labels.count - d->labels_taken,
	};
	*s = (struct pprof_sample){
		.stack = (uint32_t)p->stacks.count - 1,
		.labels = (uint32_t)p->label_sets.count - 1,
	};
	d->frames_taken = (uint32_t)p->frames.count;
	d->labels_taken = (uint32_t)p->labels.count;
	return true;
}

struct decoder *decoder_new(size_t max)
{
	static const struct proto_parts parts = {
		.type = decode_type,
		.mapping = decode_mapping,
		.function = decode_function,
		.line = decode_line,
		.location = decode_location,
		.string = decode_string,
		.comment = decode_comment,
		.sealed = decode_sealed,
		.frame = decode_frame,
		.frames = decode_frames,
		.value = decode_value,
		.label = decode_label,
		.sample = decode_sample,
	};
	struct decoder *d = mem_new(struct decoder);

	d->reader.parts = &parts;
	d->reader.ctx = d;
	d->max = max;
	d->legacy = legacy_new(max);
	return d;
}

void decoder_free(struct decoder *d)
{
	if (!d)
		return;
	pprof_fini(&d->p);
	proto_reader_fini(&d->reader);
	vec_fini(&d->location_mappings);
	vec_fini(&d->line_functions);
	legacy_free(d->legacy);
	mem_free(d);
}

void decoder_set_max(struct decoder *d, size_t max)
{
	d->max = max;
	legacy_set_max(d->legacy, max);
}

size_t decoder_memory(const struct decoder *d)
{
	return sizeof(*d) + pprof_memory(&d->p) +
	       proto_reader_memory(&d->reader) +
	       vec_memory(&d->location_mappings) +
	       vec_memory(&d->line_functions) + legacy_memory(d->legacy);
}

/* Discard the previous profile, but keep the memory of the arrays. */
static void decode_reset(struct decoder *d)
{
	pprof_reset(&d->p);
	d->location_mappings.count = 0;
	d->line_functions.count = 0;
	d->lines_taken = 0;
	d->frames_taken = 0;
	d->labels_taken = 0;
	d->memory = decoder_memory(d);
	d->over = false;
}

/* Copy the fields of the profile that are single. */
static void decode_header(struct pprof *p, const struct proto_header *h)
{
	p->time_ns = h->time_ns;
	p->duration_ns = h->duration_ns;
	p->period = h->period;
	p->period_type.type = (uint32_t)h->period_type[0];
	p->period_type.unit = (uint32_t)h->period_type[1];
	p->drop_frames = (uint32_t)h->drop_frames;
	p->keep_frames = (uint32_t)h->keep_frames;
	p->default_type = (uint32_t)h->default_type;
	p->doc_url = (uint32_t)h->doc_url;
}

/*
 * Input that is not a valid profile.proto message is decoded as a legacy
 * format, as in pprof, unless it exceeded the memory bound or consists of two
 * profiles: then the error found here is more useful.
 */
int decoder_run(struct decoder *d, struct bytes raw, struct pprof **out,
		struct err *err)
{
	int rc;

	decode_reset(d);
	if (!raw.len)
		return err_set(err, ERR_INVALID, "not a profile: no data");
	if (proto_reader_run(&d->reader, raw)) {
		decode_header(&d->p, &d->reader.header);
		*out = &d->p;
		return 0;
	}
	if (!d->over && !d->reader.concatenated) {
		rc = legacy_parse(d->legacy, raw, out, err);
		if (rc != ERR_UNSUPPORTED)
			return rc;
	}
	return err_set(err, d->over ? ERR_LIMIT : ERR_INVALID,
		       d->over ? "cannot decode the profile: %s" :
				 "not a profile: %s",
		       d->reader.why);
}
