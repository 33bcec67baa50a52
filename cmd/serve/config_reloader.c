/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading and reloading the configuration of a running server. The mutex `mu`
 * makes reloads exclusive and guards the current configuration. The previous
 * configuration is freed only after the scraper and discovery have taken the
 * new one.
 */
#include "cmd/serve/config_reloader.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/file_slurp.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/mutex.h"
#include "base/yaml_dump.h"
#include "cmd/serve/config.h"

/* The current configuration and the metrics about loading it. */
struct config_reloader {
	struct config_reloader_options o;
	char *path;
	struct mutex mu;
	struct config *config;
	/*
	 * Hash of the text that was loaded last, or refused last because of
	 * mistakes.
	 */
	uint64_t tried;
	/* Hash of the text at the last call of reloader_has_changed(). */
	uint64_t seen;
	/* When the current configuration was applied, in ms. */
	int64_t loaded_ms;
	/* Why the last reload failed; code 0: it did not. */
	struct err failure;
	struct metric *successful;
	struct metric *success_seconds;
};

/* Free a configuration on the heap; NULL is a no-op. */
static void config_free(struct config *c)
{
	if (!c)
		return;
	config_fini(c);
	mem_free(c);
}

/* The hash of the text of a file; 0: the file cannot be read. */
static uint64_t reloader_hash_of(const char *path)
{
	struct buf text = buf_init(YAML_TEXT_MAX + 1);
	uint64_t hash = 0;

	if (!file_slurp(path, &text, NULL))
		hash = hash_bytes(buf_bytes(&text));
	buf_fini(&text);
	return hash;
}

int reloader_open(const char *path, bool may_lack, struct config_reloader **out,
		  struct err *err)
{
	struct config_reloader *l = mem_new(struct config_reloader);
	const struct bytes nothing = { .len = 0 };
	int rc;

	mutex_init(&l->mu);
	l->path = mem_strdup(path);
	l->config = mem_new(struct config);
	rc = config_load(l->config, path, err);
	if (rc == ERR_NOTFOUND && may_lack)
		rc = config_parse(l->config, path, nothing, err);
	l->tried = hash_bytes(buf_bytes(&l->config->text));
	config_report(l->config);
	if (rc == ERR_NOTFOUND)
		rc = err_set(
			err, rc,
			"there is no file %s: give --config.file=FILE; the smallest configuration is: scrape_configs: [{job_name: app, static_configs: [{targets: ['localhost:6060']}]}]",
			path);
	if (rc)
		reloader_free(l);
	else
		*out = l;
	return rc;
}

/*
 * Apply a configuration. The scraper gets its jobs before discovery starts to
 * find targets for them.
 */
static void run_by(struct config_reloader *l, const struct config *c)
{
	struct discovery_job *jobs =
		mem_zalloc(c->scrape.count + 1, sizeof(*jobs));
	size_t count = c->scrape.count;

	for (size_t i = 0; i < c->scrape.count; i++) {
		jobs[i].name = c->scrape.v[i].job_name;
		jobs[i].configs = &c->scrape.v[i].discovery;
	}
	if (c->ebpf.enabled && c->ebpf.containers.count)
		jobs[count++] = (struct discovery_job){
			.name = str_of(EBPF_JOB), .configs = &c->ebpf.containers
		};
	scrape_apply(l->o.scraper, &c->scrape);
	discovery_apply(l->o.discovery, jobs, count);
	sender_apply(l->o.sender, &c->remote_write, c->external_labels,
		     c->external_label_count);
	ebpf_service_apply(l->o.ebpf, &c->ebpf);
	push_receiver_apply(l->o.push, &c->push);
	mem_free(jobs);
	l->loaded_ms = clock_ms(NULL);
	metric_set(l->successful, 1);
	metric_set(l->success_seconds, l->loaded_ms / 1000);
}

void reloader_start(struct config_reloader *l,
		    const struct config_reloader_options *o)
{
	l->o = *o;
	l->successful = metrics_gauge(
		o->metrics, "everprof_config_last_reload_successful",
		"Whether the last configuration reload attempt was successful.",
		NULL);
	l->success_seconds = metrics_gauge(
		o->metrics,
		"everprof_config_last_reload_success_timestamp_seconds",
		"Timestamp of the last successful configuration reload.", NULL);
	run_by(l, l->config);
}

/* Log each line of `lines`, warnings or errors of the file, as an event. */
static void log_lines(const struct config_reloader *l, enum log_level level,
		      const struct buf *lines)
{
	struct str rest = str_from(buf_bytes(lines));

	while (rest.len) {
		char *line = mem_strndup(str_cut(rest, '\n', &rest));

		log_event(l->o.log, level, "problem in the configuration file",
			  LOG_FIELDS(log_text("err", line)));
		mem_free(line);
	}
}

/*
 * Put the first mistake and the number of further mistakes into one sentence in
 * *err, for the user who asked for the reload.
 */
static int reloader_log_summary(const struct config *c, int rc, struct err *err)
{
	struct str first = yaml_first_error(&c->yaml);

	if (!c->yaml.error_count)
		return rc;
	if (c->yaml.error_count == 1)
		return err_set(err, rc, "%.*s", STR_ARG(first));
	return err_set(
		err, rc,
		"%.*s (and %zu more; \"everprof check config\" lists them all)",
		STR_ARG(first), c->yaml.error_count - 1);
}

/* Load the file and apply it; the caller holds `mu`. */
static int reloader_reload_now(struct config_reloader *l, struct err *err)
	REQUIRES(l->mu)
{
	struct config *c = mem_new(struct config);
	struct config *old = l->config;
	int rc;

	rc = config_load(c, l->path, err);
	/*
	 * The hash is kept even if the file has mistakes, so that the same
	 * mistakes are not logged again and again.
	 */
	l->tried = hash_bytes(buf_bytes(&c->text));
	log_lines(l, LOG_WARN, &c->yaml.warnings);
	log_lines(l, LOG_ERROR, &c->yaml.errors);
	if (!rc && !c->yaml.root)
		rc = err_set(err, ERR_INVALID,
			     "%s is empty or has only comments", l->path);
	if (rc) {
		rc = reloader_log_summary(c, rc, err);
		config_free(c);
		return rc;
	}
	run_by(l, c);
	l->config = c;
	config_free(old);
	return 0;
}

int reloader_reload(struct config_reloader *l, struct err *err)
{
	struct err own;
	int64_t began = clock_mono_ns();
	int rc;

	mutex_lock(&l->mu);
	rc = reloader_reload_now(l, &own);
	l->failure = rc ? own : (struct err){ 0 };
	mutex_unlock(&l->mu);
	if (!rc) {
		log_event(l->o.log, LOG_INFO, "configuration loaded",
			  LOG_FIELDS(
				  log_text("path", l->path),
				  log_int("took_ms", (clock_mono_ns() - began) /
							     1000000)));
		return 0;
	}
	metric_set(l->successful, 0);
	log_event(
		l->o.log, LOG_ERROR,
		"cannot load the configuration; the previous one stays in effect",
		LOG_FIELDS(log_text("path", l->path), log_err(&own)));
	return err_set(err, rc, "failed to reload config: %s", own.msg);
}

bool reloader_has_changed(struct config_reloader *l)
{
	uint64_t hash = reloader_hash_of(l->path);
	bool changed;

	mutex_lock(&l->mu);
	/*
	 * A file that is missing, or that has changed since the previous call,
	 * is perhaps being replaced right now: wait until it is stable.
	 */
	changed = hash && hash != l->tried && hash == l->seen;
	l->seen = hash;
	mutex_unlock(&l->mu);
	return changed;
}

size_t reloader_job_count(struct config_reloader *l)
{
	size_t n;

	mutex_lock(&l->mu);
	n = l->config->scrape.count;
	mutex_unlock(&l->mu);
	return n;
}

bool reloader_has_ebpf(struct config_reloader *l)
{
	bool enabled;

	mutex_lock(&l->mu);
	enabled = l->config->ebpf.enabled;
	mutex_unlock(&l->mu);
	return enabled;
}

size_t reloader_receiver_count(struct config_reloader *l)
{
	size_t n;

	mutex_lock(&l->mu);
	n = l->config->remote_write.count;
	mutex_unlock(&l->mu);
	return n;
}

void reloader_text(struct config_reloader *l, struct buf *out)
{
	mutex_lock(&l->mu);
	yaml_dump(l->config->yaml.root, false, out);
	mutex_unlock(&l->mu);
}

int64_t reloader_state(struct config_reloader *l, struct err *failure)
{
	int64_t ms;

	mutex_lock(&l->mu);
	*failure = l->failure;
	ms = l->loaded_ms;
	mutex_unlock(&l->mu);
	return ms;
}

void reloader_free(struct config_reloader *l)
{
	if (!l)
		return;
	config_free(l->config);
	mem_free(l->path);
	mutex_destroy(&l->mu);
	mem_free(l);
}
