/* SPDX-License-Identifier: Apache-2.0 */
#include "push/receive/push_datadog.h"

#include "base/units.h"
#include "base/yaml_json.h"
#include "push/receive/push_recording.h"
#include "push/wire/multipart.h"

enum {
	EVENT_MAX = 256 * 1024 /* bytes of event.json */
};

/* A request. */
struct datadog_request {
	struct multipart form;
	struct labels_builder labels;
	int64_t start_ms; /* 0: it is not said */
	int64_t end_ms;
};

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
	struct str text = push_datadog_text(root, key);

	*ms = 0;
	if (text.len && time_parse(text, 0, ms, NULL))
		return err_set(err, ERR_INVALID,
			       "event.json: \"%s\" is no time: \"%.*s\"", key,
			       STR_ARG(str_clip(text, 60)));
	return 0;
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
	static const char delta[] = "delta-";
	struct str base = str_cut(file, '.', &rest);

	if (str_starts(base, str_of(delta))) {
		base.ptr += sizeof(delta) - 1;
		base.len -= sizeof(delta) - 1;
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

/* Store a recording of Java. */
static int push_datadog_jfr(struct pushing *p, const struct datadog_request *q,
			    struct bytes recording, struct err *err)
{
	static const uint8_t lz4[] = { 0x04, 0x22, 0x4d, 0x18 };
	struct jfr_options o = {
		.labels = &q->labels,
		.time_ns = q->start_ms * 1000000,
		.duration_ns = q->end_ms > q->start_ms ?
				       (q->end_ms - q->start_ms) * 1000000 :
				       0,
	};

	if (recording.len > sizeof(lz4) &&
	    !memcmp(recording.ptr, lz4, sizeof(lz4)))
		return err_set(
			err, ERR_INVALID,
			"the recording is compressed with LZ4: set DD_PROFILING_DEBUG_UPLOAD_COMPRESSION to zstd or gzip");
	return push_recording_take(p, recording, &o, err);
}

/* Store a profile of pprof. */
static int push_datadog_pprof(struct pushing *p, struct datadog_request *q,
			      const struct multipart_part *part,
			      struct err *err)
{
	p->is_converted = false;
	labels_set(&q->labels, str_of(LABEL_NAME),
		   push_datadog_name(part->file));
	return pushing_store(p, &q->labels, part->body, err);
}

/* Store a file of the form, if it is a profile. */
static int push_datadog_part(struct pushing *p, struct datadog_request *q,
			     const struct multipart_part *part, struct err *err)
{
	int rc = 0;

	if (str_ends(part->file, ".pprof")) {
		p->profiles++;
		return push_datadog_pprof(p, q, part, err);
	}
	if (!str_ends(part->file, ".jfr"))
		return 0;
	labels_set(&q->labels, str_of(LABEL_NAME), str_of(""));
	rc = push_datadog_jfr(p, q, part->body, err);
	/* The other files of the request may be good. */
	if (rc && !profile_store_may_retry(rc)) {
		p->profiles++;
		pushing_refuse(p, NULL, err);
		pushing_note(
			p,
			labels_builder_get(&q->labels, str_of("service_name")),
			PUSH_REFUSED, err);
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
	for (size_t i = 0; !rc && i < q.form.count; i++)
		rc = push_datadog_part(p, &q, &q.form.parts[i], err);
	if (!rc && !p->profiles)
		rc = err_set(err, ERR_INVALID,
			     "the form has no file .pprof or .jfr");
	labels_builder_fini(&q.labels);
	return rc;
}
