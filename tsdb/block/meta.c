/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/meta.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "model/types.h"

/*
 * The format of a block. 2 means that chunks may be stored as columns: versions
 * of everprof without the columns codec then report a newer format, not damage
 * (docs/decisions.md, 96).
 */
#define FORMAT_PLAIN   1
#define FORMAT_COLUMNS 2

void meta_fini(struct meta *m)
{
	for (size_t i = 0; i < m->typeset_count; i++)
		mem_free(m->typesets[i].ptr);
	mem_free(m->typesets);
	for (size_t i = 0; i < m->sample_label_count; i++)
		mem_free(m->sample_labels[i].ptr);
	mem_free(m->sample_labels);
	mem_free(m->sources);
	mem_free(m->parents);
	mem_free(m->files);
	*m = (struct meta){ 0 };
}

/* Insert in order, so that equal sets of sources compare equal. */
void meta_add_source(struct meta *m, const struct ulid *u)
{
	size_t at = m->source_count;

	for (size_t i = 0; i < m->source_count; i++) {
		int order = memcmp(&m->sources[i], u, sizeof(*u));

		if (!order)
			return;
		if (order > 0) {
			at = i;
			break;
		}
	}
	m->sources = mem_grow(m->sources, m->source_count, &m->source_cap,
			      sizeof(*m->sources));
	memmove(m->sources + at + 1, m->sources + at,
		(m->source_count - at) * sizeof(*m->sources));
	m->sources[at] = *u;
	m->source_count++;
}

void meta_add_parent(struct meta *m, const struct meta *parent)
{
	m->parents = mem_grow(m->parents, m->parent_count, &m->parent_cap,
			      sizeof(*m->parents));
	m->parents[m->parent_count++] =
		(struct meta_parent){ .ulid = parent->ulid,
				      .min_ms = parent->min_ms,
				      .max_ms = parent->max_ms };
}

/* The name is cut if too long; meta_decode_files() refuses such a name. */
struct meta_file *meta_add_file(struct meta *m, const char *name)
{
	struct meta_file *f;

	m->files = mem_grow(m->files, m->file_count, &m->file_cap,
			    sizeof(*m->files));
	f = &m->files[m->file_count++];
	*f = (struct meta_file){ 0 };
	snprintf(f->name, sizeof(f->name), "%s", name);
	return f;
}

/* A block has few type sets, so a linear search is enough. */
uint32_t meta_typeset(struct meta *m, struct bytes typeset)
{
	for (size_t i = 0; i < m->typeset_count; i++) {
		if (bytes_eq(m->typesets[i], typeset))
			return (uint32_t)i;
	}
	m->typesets = mem_grow(m->typesets, m->typeset_count, &m->typeset_cap,
			       sizeof(*m->typesets));
	m->typesets[m->typeset_count] =
		(struct bytes){ .ptr = mem_dup(typeset.ptr, typeset.len),
				.len = typeset.len };
	return (uint32_t)m->typeset_count++;
}

void meta_add_sample_label(struct meta *m, struct str name)
{
	m->sample_labels = mem_grow(m->sample_labels, m->sample_label_count,
				    &m->sample_label_cap,
				    sizeof(*m->sample_labels));
	m->sample_labels[m->sample_label_count++] =
		(struct bytes){ .ptr = mem_dup(name.ptr, name.len),
				.len = name.len };
}

const struct meta_file *meta_file(const struct meta *m, const char *name)
{
	for (size_t i = 0; i < m->file_count; i++) {
		if (!strcmp(m->files[i].name, name))
			return &m->files[i];
	}
	return NULL;
}

/*
 * Encoding. The layout of the text is that of Go's json.MarshalIndent, as in
 * the meta.json of Prometheus.
 */

/* The array "sources", after its opening bracket. */
static void encode_sources(const struct meta *m, struct buf *out)
{
	char text[ULID_TEXT + 1];

	for (size_t i = 0; i < m->source_count; i++) {
		ulid_format(&m->sources[i], text);
		buf_printf(out, "%s\n\t\t\t\"%s\"", i ? "," : "", text);
	}
	buf_str(out, "\n\t\t]");
}

/* The array "parents", which is left out if it is empty, as in Prometheus. */
static void encode_parents(const struct meta *m, struct buf *out)
{
	char text[ULID_TEXT + 1];

	if (!m->parent_count)
		return;
	buf_str(out, ",\n\t\t\"parents\": [");
	for (size_t i = 0; i < m->parent_count; i++) {
		const struct meta_parent *p = &m->parents[i];

		ulid_format(&p->ulid, text);
		buf_printf(out,
			   "%s\n\t\t\t{\n\t\t\t\t\"ulid\": \"%s\",\n"
			   "\t\t\t\t\"minTime\": %" PRId64 ",\n"
			   "\t\t\t\t\"maxTime\": %" PRId64 "\n\t\t\t}",
			   i ? "," : "", text, p->min_ms, p->max_ms);
	}
	buf_str(out, "\n\t\t]");
}

/* A list of texts of any bytes, which are written in hexadecimal. */
static void meta_encode_texts(const char *name, const struct bytes *v,
			      size_t count, struct buf *out)
{
	buf_printf(out, "\t\t\"%s\": [", name);
	for (size_t i = 0; i < count; i++) {
		buf_printf(out, "%s\n\t\t\t\"", i ? "," : "");
		for (size_t k = 0; k < v[i].len; k++)
			buf_printf(out, "%02x", v[i].ptr[k]);
		buf_str(out, "\"");
	}
	buf_str(out, "\n\t\t],\n");
}

/* One line per file; only values files have a count of live bytes. */
static void encode_files(const struct meta *m, struct buf *out)
{
	buf_str(out, "\t\t\"files\": [");
	for (size_t i = 0; i < m->file_count; i++) {
		const struct meta_file *f = &m->files[i];

		buf_printf(out,
			   "%s\n\t\t\t{\"name\": \"%s\", \"size\": %" PRIu64
			   ", ",
			   i ? "," : "", f->name, f->size);
		if (!strncmp(f->name, "values/", 7))
			buf_printf(out, "\"live\": %" PRIu64 ", ", f->live);
		buf_printf(out, "\"crc32c\": \"%08x\"}", f->crc);
	}
	buf_str(out, "\n\t\t],\n");
}

/* The checksum covers all bytes before it, so it must be the last value. */
void meta_encode(const struct meta *m, struct buf *out)
{
	char text[ULID_TEXT + 1];
	size_t start = out->len;
	struct bytes covered;

	ulid_format(&m->ulid, text);
	buf_printf(out,
		   "{\n\t\"ulid\": \"%s\",\n\t\"minTime\": %" PRId64
		   ",\n\t\"maxTime\": %" PRId64 ",\n",
		   text, m->min_ms, m->max_ms);
	buf_printf(out,
		   "\t\"stats\": {\n\t\t\"numSamples\": %" PRIu64
		   ",\n\t\t\"numSeries\": %" PRIu64
		   ",\n\t\t\"numChunks\": %" PRIu64 "\n\t},\n",
		   m->samples, m->series, m->chunks);
	buf_printf(
		out,
		"\t\"compaction\": {\n\t\t\"level\": %u,\n\t\t\"sources\": [",
		m->level);
	encode_sources(m, out);
	encode_parents(m, out);
	buf_printf(
		out,
		"\n\t},\n\t\"version\": 1,\n\t\"everprof\": {\n"
		"\t\t\"format\": %d,\n\t\t\"firstSample\": %" PRId64
		",\n\t\t\"lastSample\": %" PRId64
		",\n\t\t\"firstLsn\": %" PRIu64 ",\n\t\t\"lastLsn\": %" PRIu64
		",\n\t\t\"rawBytes\": %" PRIu64 ",\n",
		m->columns || m->some_columns ? FORMAT_COLUMNS : FORMAT_PLAIN,
		m->first_ms, m->last_ms, m->first_lsn, m->last_lsn,
		m->raw_bytes);
	if (m->columns)
		buf_str(out, "\t\t\"columns\": true,\n");
	if (m->incomplete)
		buf_str(out, "\t\t\"incomplete\": true,\n");
	if (m->has_sample_labels)
		meta_encode_texts("sampleLabels", m->sample_labels,
				  m->sample_label_count, out);
	meta_encode_texts("typeSets", m->typesets, m->typeset_count, out);
	encode_files(m, out);
	buf_str(out, "\t\t\"crc32c\": \"");
	covered = (struct bytes){ .ptr = out->ptr + start,
				  .len = out->len - start };
	buf_printf(out, "%08x\"\n\t}\n}\n", crc32c_extend(0, covered));
}

/*
 * Decoding. Each function below sets *ok to false when a value is missing or
 * has the wrong type. After that, results are not used.
 */

/* Length of the checksum and of the text after it. */
#define TAIL_LEN (8 + sizeof("\"\n\t}\n}\n") - 1)

/*
 * Compare the checksum before anything is parsed; the end of the text must be
 * exactly as meta_encode() writes it.
 */
static bool crc_agrees(struct bytes text)
{
	struct bytes covered = { .ptr = text.ptr, .len = text.len - TAIL_LEN };
	char want[TAIL_LEN + 1];

	snprintf(want, sizeof(want), "%08x\"\n\t}\n}\n",
		 crc32c_extend(0, covered));
	return !memcmp(text.ptr + covered.len, want, TAIL_LEN);
}

/* Read an integer member of an object. */
static int64_t meta_read_number(const json_t *o, const char *key, bool *ok)
{
	const json_t *v = json_object_get(o, key);

	*ok = *ok && json_is_integer(v);
	return *ok ? json_integer_value(v) : 0;
}

/* A string, borrowed from the document; "" after an error. */
static const char *text_of(const json_t *v, bool *ok)
{
	*ok = *ok && json_is_string(v);
	return *ok ? json_string_value(v) : "";
}

/* A ULID in its text form. */
static struct ulid ulid_of(const json_t *v, bool *ok)
{
	struct ulid u = { { 0 } };

	*ok = *ok && ulid_parse(str_of(text_of(v, ok)), &u);
	return u;
}

/* A checksum: eight hexadecimal digits. */
static uint32_t crc_of(const json_t *o, bool *ok)
{
	const char *text = text_of(json_object_get(o, "crc32c"), ok);
	char *end;
	unsigned long v = strtoul(text, &end, 16);

	*ok = *ok && end == text + 8 && !*end;
	return (uint32_t)v;
}

/* The array "parents", which may be missing. */
static void decode_parents(struct meta *m, const json_t *parents, bool *ok)
{
	size_t n = json_array_size(parents); /* 0 if there is no array */

	for (size_t i = 0; i < n && *ok; i++) {
		const json_t *o = json_array_get(parents, i);
		struct meta p = { .ulid = ulid_of(json_object_get(o, "ulid"),
						  ok) };

		p.min_ms = meta_read_number(o, "minTime", ok);
		p.max_ms = meta_read_number(o, "maxTime", ok);
		meta_add_parent(m, &p);
	}
}

/* Decode the members that Prometheus' meta.json has too. */
static void decode_prometheus(struct meta *m, const json_t *root, bool *ok)
{
	const json_t *stats = json_object_get(root, "stats");
	const json_t *compaction = json_object_get(root, "compaction");
	const json_t *sources = json_object_get(compaction, "sources");
	size_t n = json_array_size(sources);

	m->ulid = ulid_of(json_object_get(root, "ulid"), ok);
	m->min_ms = meta_read_number(root, "minTime", ok);
	m->max_ms = meta_read_number(root, "maxTime", ok);
	m->samples = (uint64_t)meta_read_number(stats, "numSamples", ok);
	m->series = (uint64_t)meta_read_number(stats, "numSeries", ok);
	m->chunks = (uint64_t)meta_read_number(stats, "numChunks", ok);
	m->level = (uint32_t)meta_read_number(compaction, "level", ok);
	for (size_t i = 0; i < n && *ok; i++) {
		struct ulid u = ulid_of(json_array_get(sources, i), ok);

		meta_add_source(m, &u);
	}
	decode_parents(m, json_object_get(compaction, "parents"), ok);
}

/* Append the bytes of a text in hexadecimal, which is not empty. */
static void meta_decode_text(const json_t *v, struct buf *out, bool *ok)
{
	const char *hex = text_of(v, ok);

	for (; *hex && hex[1] && *ok; hex += 2) {
		const char digits[3] = { hex[0], hex[1], 0 };
		char *end;

		buf_byte(out, (uint8_t)strtoul(digits, &end, 16));
		*ok = *ok && !*end && !out->over;
	}
	*ok = *ok && !*hex && out->len;
}

/*
 * The number of a type set is its position in the list. A duplicate is damage.
 * It is detected because meta_typeset() returns the number of the first copy,
 * not the position.
 */
static void decode_typesets(struct meta *m, const json_t *list, bool *ok)
{
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n && *ok; i++) {
		struct buf b = buf_init(TYPESET_BYTES_MAX);

		meta_decode_text(json_array_get(list, i), &b, ok);
		*ok = *ok && meta_typeset(m, buf_bytes(&b)) == (uint32_t)i;
		buf_fini(&b);
	}
}

/* The array "sampleLabels", which may be missing. */
static void meta_decode_sample_labels(struct meta *m, const json_t *list,
				      bool *ok)
{
	size_t n = json_array_size(list);

	m->has_sample_labels = list;
	*ok = *ok && (!list || json_is_array(list));
	for (size_t i = 0; i < n && *ok; i++) {
		struct buf b = { 0 };

		meta_decode_text(json_array_get(list, i), &b, ok);
		meta_add_sample_label(m, str_from(buf_bytes(&b)));
		buf_fini(&b);
	}
}

/*
 * Only the length of names is checked here; block_open() checks the names
 * themselves.
 */
static void meta_decode_files(struct meta *m, const json_t *list, bool *ok)
{
	size_t n = json_array_size(list);

	for (size_t i = 0; i < n && *ok; i++) {
		const json_t *o = json_array_get(list, i);
		const char *name = text_of(json_object_get(o, "name"), ok);
		struct meta_file *f = meta_add_file(m, name);

		*ok = *ok && strlen(name) < META_NAME_MAX;
		f->size = (uint64_t)meta_read_number(o, "size", ok);
		if (!strncmp(name, "values/", 7))
			f->live = (uint64_t)meta_read_number(o, "live", ok);
		f->crc = crc_of(o, ok);
	}
}

/* Decode the object "everprof", which Prometheus does not have. */
static void decode_everprof(struct meta *m, const json_t *o, bool *ok)
{
	m->first_ms = meta_read_number(o, "firstSample", ok);
	m->last_ms = meta_read_number(o, "lastSample", ok);
	m->first_lsn = (uint64_t)meta_read_number(o, "firstLsn", ok);
	m->last_lsn = (uint64_t)meta_read_number(o, "lastLsn", ok);
	m->raw_bytes = (uint64_t)meta_read_number(o, "rawBytes", ok);
	m->columns = json_is_true(json_object_get(o, "columns"));
	m->incomplete = json_is_true(json_object_get(o, "incomplete"));
	meta_decode_sample_labels(m, json_object_get(o, "sampleLabels"), ok);
	decode_typesets(m, json_object_get(o, "typeSets"), ok);
	meta_decode_files(m, json_object_get(o, "files"), ok);
}

/* The format is checked first, because members of a newer format may differ. */
static int decode_root(struct meta *m, const json_t *root, struct err *err)
{
	const json_t *ours = json_object_get(root, "everprof");
	bool ok = json_is_object(ours);
	int64_t format = meta_read_number(ours, "format", &ok);

	if (!json_is_object(ours))
		return err_set(
			err, ERR_CORRUPT,
			"meta.json was not written by everprof: it has no member \"everprof\"");
	if (ok && (format < FORMAT_PLAIN || format > FORMAT_COLUMNS))
		return err_set(
			err, ERR_UNSUPPORTED,
			"block format %" PRId64
			" is not supported: this version of everprof reads formats %d to %d; use the newer version that wrote the block",
			format, FORMAT_PLAIN, FORMAT_COLUMNS);
	m->some_columns = format == FORMAT_COLUMNS;
	if (ok) {
		decode_prometheus(m, root, &ok);
		decode_everprof(m, ours, &ok);
	}
	return ok ? 0 :
		    err_set(err, ERR_CORRUPT,
			    "a member of meta.json is missing or has the wrong type");
}

/* Report a text whose checksum is missing or wrong. */
static int meta_damage(struct bytes text, struct err *err)
{
	bool ours = text.len && memmem(text.ptr, text.len, "\"everprof\"", 10);

	return err_set(
		err, ERR_CORRUPT,
		ours ? "meta.json is damaged (checksum mismatch)" :
		       "meta.json is damaged or was not written by everprof: it has no member \"everprof\"");
}

int meta_decode(struct bytes text, struct meta *out, struct err *err)
{
	struct meta m = { 0 };
	json_error_t why;
	json_t *root;
	int rc;

	/*
	 * The checksum is compared before the format is read, so that damage is
	 * not reported as a newer format (docs/decisions.md, 102).
	 */
	if (text.len <= TAIL_LEN || !crc_agrees(text))
		return meta_damage(text, err);
	root = json_loadb(str_from(text).ptr, text.len, 0, &why);
	if (!root)
		return err_set(err, ERR_CORRUPT, "meta.json: %s", why.text);
	rc = decode_root(&m, root, err);
	json_decref(root);
	if (rc)
		meta_fini(&m);
	else
		*out = m;
	return rc;
}

const char *meta_file_trouble(const char *name, int rc)
{
	if (!strcmp(name, "tombstones"))
		return "cannot read the tombstones of a block; its deleted profiles are visible again";
	switch (rc) {
	case ERR_NOTFOUND:
		return "a file of a block is missing; its profiles are left out of all answers";
	case ERR_IO:
		return "the disk cannot read a file of a block; profiles that cannot be read are left out of all answers";
	default:
		return "a file of a block is damaged; profiles that cannot be read are left out of all answers";
	}
}
