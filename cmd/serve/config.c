/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes the configuration file. The format is that of Prometheus as far as it
 * makes sense for profiles.
 */
#include "cmd/serve/config.h"

#include <stddef.h>
#include <stdio.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/mem.h"
#include "cmd/cli/console.h"

#define FILE_MAX         (10 * MIB) /* maximum size of a file in bytes */
#define INTERVAL_DEFAULT 15000      /* default scrape_interval in ms */

/* Decode global.external_labels, a map of names to values. */
static void decode_external(struct yaml *y, const struct yaml_node *n,
			    void *field)
{
	struct config *c = field;

	if (!yaml_expect(y, n, YAML_MAP, "external_labels"))
		return;
	yaml_unique_keys(y, n);
	c->external_labels = arena_array(&y->arena, struct label, n->count / 2);
	for (size_t i = 0; i < n->count; i += 2) {
		struct label *l =
			&c->external_labels[c->external_label_count++];

		l->name = n->items[i]->text;
		yaml_text(y, n->items[i + 1], &l->value);
	}
}

/*
 * The section "global": the defaults of all jobs. 0 means "not set", as in
 * Prometheus.
 */
static void decode_global(struct yaml *y, const struct yaml_node *n,
			  void *config)
{
	static const struct yaml_field fields[] = {
		SCRAPE_COMMON_FIELDS(offsetof(struct config, defaults)),
		{ "external_labels", decode_external, 0, NULL },
		SCRAPE_IGNORED("evaluation_interval"),
		SCRAPE_IGNORED("rule_query_offset"),
		SCRAPE_IGNORED("query_log_file"),
		SCRAPE_IGNORED_FIELDS,
		{ 0 },
	};

	struct config *c = config;

	yaml_decode(y, n, "global", fields, c);
	if (!c->defaults.interval_ms)
		c->defaults.interval_ms = INTERVAL_DEFAULT;
}

/*
 * A decoder that does nothing, for scrape_configs. config_decode() decodes
 * scrape_configs after all other sections, because jobs need the defaults of
 * "global", which may come later in the file.
 */
static void decode_nothing(struct yaml *y UNUSED,
			   const struct yaml_node *n UNUSED, void *field UNUSED)
{
}

/* Refuse scrape_config_files: without its jobs, targets would be missing. */
static void refuse_files(struct yaml *y, const struct yaml_node *n,
			 void *field UNUSED)
{
	yaml_error(
		y, n,
		"scrape_config_files is not supported: put the jobs into scrape_configs of this file");
}

/* Decode all sections, then the jobs. */
static void config_decode(struct config *c)
{
	static const struct yaml_field fields[] = {
		{ "global", decode_global, 0, NULL },
		{ "scrape_configs", decode_nothing, 0, NULL },
		{ "remote_write", remote_write_decode,
		  offsetof(struct config, remote_write), NULL },
		{ "ebpf", ebpf_config_decode, offsetof(struct config, ebpf),
		  NULL },
		{ "push", push_config_decode, offsetof(struct config, push),
		  NULL },
		SCRAPE_IGNORED("rule_files"),
		SCRAPE_IGNORED("alerting"),
		SCRAPE_IGNORED("remote_read"),
		{ "storage", NULL, 0, "storage is configured by flags" },
		SCRAPE_IGNORED("tracing"),
		SCRAPE_IGNORED("otlp"),
		{ "runtime", NULL, 0, "everprof has no runtime of Go" },
		{ "scrape_config_files", refuse_files, 0, NULL },
		{ 0 },
	};
	const struct yaml_node *root = c->yaml.root;
	const struct yaml_node *jobs;

	if (!root)
		/*
		 * the file is empty, or the mistake that prevents its parsing
		 * is already in yaml.errors
		 */
		return;
	yaml_decode(&c->yaml, root, "the configuration", fields, c);
	jobs = yaml_child(root, "scrape_configs");
	if (!yaml_is_null(jobs))
		scrape_configs_decode(&c->yaml, jobs, &c->defaults, &c->scrape);
}

int config_parse(struct config *c, const char *path, struct bytes text,
		 struct err *err)
{
	*c = (struct config){ .path = mem_strdup(path),
			      .defaults = { .interval_ms = INTERVAL_DEFAULT } };
	/* The nodes of c->yaml point into this copy. */
	buf_add(&c->text, text.ptr, text.len);
	yaml_parse(&c->yaml, c->path, buf_bytes(&c->text));
	config_decode(c);
	if (!c->yaml.error_count)
		return 0;
	return err_set(err, ERR_INVALID, "%zu error%s in %s",
		       c->yaml.error_count, c->yaml.error_count == 1 ? "" : "s",
		       path);
}

/*
 * Read the file with the function `read`, and decode it. config_fini(c) is
 * allowed whatever happens.
 */
static int config_load_file(struct config *c, const char *path,
			    int (*read)(const char *path, struct buf *out,
					struct err *err),
			    struct err *err)
{
	struct buf text = buf_init(FILE_MAX + 1);
	int rc = read(path, &text, err);

	*c = (struct config){ 0 };
	if (!rc)
		rc = config_parse(c, path, buf_bytes(&text), err);
	buf_fini(&text);
	return rc;
}

int config_load(struct config *c, const char *path, struct err *err)
{
	return config_load_file(c, path, file_slurp, err);
}

int config_drain(struct config *c, const char *path, struct err *err)
{
	return config_load_file(c, path, file_drain, err);
}

void config_fini(struct config *c)
{
	scrape_configs_fini(&c->scrape);
	remote_write_configs_fini(&c->remote_write);
	ebpf_config_fini(&c->ebpf);
	push_config_fini(&c->push);
	yaml_fini(&c->yaml);
	buf_fini(&c->text);
	mem_free(c->path);
	*c = (struct config){ 0 };
}

/* Print `lines`, each of which is a complete message, on stderr. */
static void config_print(const struct buf *lines)
{
	if (lines->len)
		console_lines(stderr, str_from(buf_bytes(lines)));
}

void config_report(const struct config *c)
{
	config_print(&c->yaml.warnings);
	config_print(&c->yaml.errors);
}
