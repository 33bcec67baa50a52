/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_datadog.h"

#include "base/yaml_json.h"
#include "push/receive/push_recording.h"
#include "push/wire/multipart.h"
#include "push/wire/push_time.h"

enum {
	EVENT_MAX = 256 * 1024 /* bytes of event.json */
};

/* A request. */
struct datadog_request {
	struct multipart form;
	struct labels_builder labels;
	int64_t start_ms; /* 0: it is not said */
	int64_t end_ms;
	size_t files; /* with profiles */
};

/* The begin of the name of a file whose values are increments since the last one. */
static const char delta_prefix[] = "delta-";

/*
 * Whether a tag tells profiles of one process apart from each other, or says what nobody
 * asks for: it would make a series of each request, or each process.
 */
static bool push_datadog_is_dropped(struct str name, struct str value)
{
	static const char *const names[] = {
		"runtime-id",      "process_id",       "pid",
		"profile_seq",     "snapshot",         "format",
		"profiler_config", "profiler_version", "library_version",
		"runtime",         "runtime_version",  "runtime_arch",
		"runtime_os",      "runtime_platform",
	};

	if (!name.len || !value.len || str_is(value, "undefined") ||
	    str_starts(name, str_of("_dd.")))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(name, names[i]))
			return true;
	}
	return false;
}

/* Make labels of tags: "service:shop,env:prod". */
static void push_datadog_tags(struct datadog_request *q, struct str tags)
{
	while (tags.len) {
		struct str value;
		struct str tag = str_trim(str_cut(tags, ',', &tags));
		struct str name = str_cut(tag, ':', &value);

		if (push_datadog_is_dropped(name, value))
			continue;
		if (str_is(name, "service"))
			name = str_of("service_name");
		if (!str_starts(name, str_of("__")))
			labels_set(&q->labels, name, value);
	}
}

/* Return a text of the description; empty if it has none. */
static struct str push_datadog_text(const struct yaml_node *root,
				    const char *key)
{
	const struct yaml_node *n = yaml_child(root, key);

	return n && n->kind == YAML_SCALAR ? n->text : str_of("");
}

/* Read a time of the description; 0: it has none. */
static int push_datadog_time(const struct yaml_node *root, const char *key,
			     int64_t *ms, struct err *err)
{
	int rc = push_time_parse(key, push_datadog_text(root, key), 0, ms, err);

	return rc ? err_wrap(err, rc, "event.json") : 0;
}

/* Read what the description says. */
static int push_datadog_read(struct datadog_request *q,
			     const struct yaml_node *root, struct err *err)
{
	int rc;

	if (root->kind != YAML_MAP)
		return err_set(err, ERR_INVALID,
			       "event.json must be a JSON object");
	push_datadog_tags(q, push_datadog_text(root, "tags_profiler"));
	rc = push_datadog_time(root, "start", &q->start_ms, err);
	if (!rc)
		rc = push_datadog_time(root, "end", &q->end_ms, err);
	return rc;
}

/* Find the description, and read it. */
static int push_datadog_describe(struct datadog_request *q, struct err *err)
{
	const struct multipart_part *part = multipart_find(&q->form, "event");
	struct yaml json;
	int rc;

	if (!part)
		return err_set(err, ERR_INVALID,
			       "the form has no field \"event\"");
	if (part->body.len > EVENT_MAX)
		return err_set(err, ERR_INVALID,
			       "event.json is longer than %d bytes", EVENT_MAX);
	yaml_parse_json(&json, "event.json", part->body);
	rc = yaml_check(&json, err);
	if (!rc)
		rc = push_datadog_read(q, json.root, err);
	yaml_fini(&json);
	return rc;
}

/* Return the name of a file without its end, such as ".pprof". */
static struct str push_datadog_base(struct str file)
{
	struct str rest;
	struct str base = str_cut(file, '.', &rest);

	if (str_starts(base, str_of(delta_prefix))) {
		base.ptr += sizeof(delta_prefix) - 1;
		base.len -= sizeof(delta_prefix) - 1;
	}
	return base;
}

/* Return the label __name__ of a profile by the name of its file. */
static struct str push_datadog_name(struct str file)
{
	static const struct {
		const char *file;
		const char *name;
	} names[] = {
		/* These have all sample types; that of the CPU is the first. */
		{ "auto", "process_cpu" }, { "profile", "process_cpu" },
		{ "cpu", "process_cpu" },  { "heap", "memory" },
		{ "space", "memory" },     { "goroutines", "goroutine" },
	};
	struct str base = push_datadog_base(file);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (str_is(base, names[i].file))
			return str_of(names[i].name);
	}
	return base;
}

/* Whether a file is compressed with LZ4, which nothing here decompresses. */
static bool push_datadog_is_lz4(struct bytes file)
{
	static const uint8_t magic[] = { 0x04, 0x22, 0x4d, 0x18 };

	return file.len > sizeof(magic) &&
	       !memcmp(file.ptr, magic, sizeof(magic));
}

/* Store a recording of Java. */
static int push_datadog_jfr(struct pushing *p, struct datadog_request *q,
			    struct bytes recording, struct err *err)
{
	struct jfr_options o = {
		.labels = &q->labels,
		.time_ns = q->start_ms * 1000000,
		.duration_ns = q->end_ms > q->start_ms ?
				       (q->end_ms - q->start_ms) * 1000000 :
				       0,
	};

	/* The conversion names the profiles. */
	labels_set(&q->labels, str_of(LABEL_NAME), str_of(""));
	return push_recording_take(p, recording, &o, err);
}

/* Store a profile of pprof. */
static int push_datadog_pprof(struct pushing *p, struct datadog_request *q,
			      const struct multipart_part *part,
			      struct err *err)
{
	p->profiles++;
	p->is_converted = false;
	p->sends_increments = str_starts(part->file, str_of(delta_prefix));
	labels_set(&q->labels, str_of(LABEL_NAME),
		   push_datadog_name(part->file));
	return pushing_store(p, &q->labels, part->body, err);
}

/* Refuse a file as a whole. */
static void push_datadog_refuse(struct pushing *p, const struct err *why)
{
	p->profiles++;
	pushing_refuse(p, NULL, why);
	pushing_note(p, p->origin.app, PUSH_REFUSED, why);
}

/* Store a file of the form, if it is a profile. The other files may be good. */
static int push_datadog_part(struct pushing *p, struct datadog_request *q,
			     const struct multipart_part *part, struct err *err)
{
	bool is_pprof = str_ends(part->file, ".pprof");
	int rc;

	if (!is_pprof && !str_ends(part->file, ".jfr"))
		return 0;
	q->files++;
	if (push_datadog_is_lz4(part->body))
		rc = err_set(
			err, ERR_INVALID,
			"\"%.*s\" is compressed with LZ4: use a newer library, or for Java set DD_PROFILING_DEBUG_UPLOAD_COMPRESSION to zstd or gzip",
			STR_ARG(str_clip(part->file, 60)));
	else if (is_pprof)
		return push_datadog_pprof(p, q, part, err);
	else
		rc = push_datadog_jfr(p, q, part->body, err);
	if (rc && !profile_store_may_retry(rc)) {
		push_datadog_refuse(p, err);
		rc = 0;
	}
	return rc;
}

int push_datadog_take(struct pushing *p, struct err *err)
{
	struct datadog_request q = { .start_ms = 0 };
	int rc =
		multipart_split(p->in->content_type, p->in->body, &q.form, err);

	if (!rc)
		rc = push_datadog_describe(&q, err);
	p->from_ms = q.start_ms;
	p->origin.app = labels_builder_get(&q.labels, str_of("service_name"));
	for (size_t i = 0; !rc && i < q.form.count; i++)
		rc = push_datadog_part(p, &q, &q.form.parts[i], err);
	if (!rc && !q.files)
		rc = err_set(
			err, ERR_INVALID,
			"the form has no file whose name ends with .pprof or .jfr");
	if (rc)
		pushing_note_failure(p, rc, err);
	p->origin.app = str_of("");
	labels_builder_fini(&q.labels);
	return rc;
}
