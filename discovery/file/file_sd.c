/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file_sd_configs: target groups in files, read again when something happens in
 * their folders, and every refresh_interval. When a file cannot be read or
 * parsed, its last targets stay; when a file is removed, its targets are
 * dropped.
 *
 * Folders are watched, not files. Editors and Kubernetes replace a file, or a
 * link to a file, by giving the same name to a new file; a watch of the old
 * file would not notice the new file.
 */
#include "discovery/core/kinds.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/file_slurp.h"
#include "base/hash.h"
#include "base/mem.h"
#include "discovery/file/file_config.h"

/*
 * ms to wait after an event other than the creation of a file, so that several
 * changes in a row cause one refresh
 */
#define SETTLE_MS 50

/*
 * ms to wait after a file was created, because its text may not be written yet
 */
#define BEGIN_MS  500
#define META_FILE "__meta_filepath" /* the label with the file's path */

/* A file that matches a pattern, with the target groups that it contains. */
struct source {
	char *path;
	/* hash of the text that `groups` was made from */
	uint64_t hash;
	/* NULL: the file was never parsed without errors */
	struct target_groups *groups;
	/* whether the current or latest refresh has found the file */
	bool there;
};

/* The data of a file provider. */
struct files {
	VEC(char *) patterns;
	VEC(struct source) sources;
	size_t bytes; /* of the target groups of all sources */
	/*
	 * the latest refresh has refused a file, because the target groups of
	 * all files would be too large
	 */
	bool is_full;
	/*
	 * The inotify descriptor. -1: inotify is not available, and files are
	 * read only once every refresh_interval.
	 */
	int inotify;
};

/*
 * Free the members of a source, and drop its reference on the target groups.
 */
static void source_fini(struct source *s)
{
	mem_free(s->path);
	target_groups_unref(s->groups);
}

/* Return the folder of a path; the caller owns the text. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return mem_strdup(".");
	return slash == path ? mem_strdup("/") :
			       mem_printf("%.*s", (int)(slash - path), path);
}

/*
 * Watch the folders of all patterns, except folders whose own path has
 * wildcards (? or [). Called at every refresh, because a folder may appear
 * later; watching a folder again has no effect.
 */
static void watch_folders(struct files *f)
{
	const uint32_t events = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM |
				IN_DELETE | IN_CREATE | IN_ONLYDIR;

	if (f->inotify < 0)
		return;
	for (size_t i = 0; i < f->patterns.count; i++) {
		char *folder = folder_of(f->patterns.v[i]);

		(void)inotify_add_watch(f->inotify, folder, events);
		mem_free(folder);
	}
}

/*
 * Return whether an event is something other than the creation of a file. A new
 * file may be incomplete, and another event follows when the writer closes the
 * file. But callers must not ignore IN_CREATE, because IN_CREATE is the only
 * event for a new link.
 */
static bool file_sd_is_relevant(const struct inotify_event *e)
{
	return (e->mask & ~(uint32_t)IN_CREATE) != 0;
}

/*
 * Called when inotify has events. It does not matter which files the events
 * concern, because unchanged files are recognised by the hash of their text.
 */
static void on_events(void *ctx, int fd UNUSED, unsigned ready UNUSED)
{
	struct provider *p = ctx;
	struct files *f = p->data;
	union {
		struct inotify_event e;
		char bytes[4096];
	} u;
	ssize_t n;

	while ((n = read(f->inotify, u.bytes, sizeof(u.bytes))) > 0) {
		for (ssize_t at = 0; at < n;) {
			struct inotify_event e;

			/*
			 * Each event is followed by a name of e.len bytes,
			 * which the kernel pads so that the next event is
			 * aligned. The event is copied because the compiler
			 * does not know that it is aligned.
			 */
			memcpy(&e, u.bytes + at, sizeof(e));
			if (file_sd_is_relevant(&e))
				provider_refresh_within(p, SETTLE_MS);
			else
				provider_refresh_within(p, BEGIN_MS);
			at += (ssize_t)(sizeof(e) + e.len);
		}
	}
}

/*
 * Log that inotify is not available, for example because its limit of
 * instances is reached.
 */
static void tell_unwatched(struct provider *p)
{
	struct err err;

	err_sys(&err,
		"cannot start inotify (limits: the sysctl fs.inotify.max_user_instances, and the open files of everprof)");
	log_event(
		p->log, LOG_WARN,
		"cannot watch target files, so they are only read at each refresh interval; restart everprof to try again",
		LOG_FIELDS(log_err(&err)));
}

/* Copy the patterns and begin to receive inotify events. */
static void *files_open(struct provider *p)
{
	const struct file_config *c = (const struct file_config *)p->config;
	struct files *f = mem_new(struct files);

	for (size_t i = 0; i < c->file_count; i++)
		*vec_add(&f->patterns) = mem_strndup(c->files[i]);
	f->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (f->inotify >= 0)
		http_watch(p->client, f->inotify, HTTP_READABLE, on_events, p);
	else
		tell_unwatched(p);
	return f;
}

/* Return the struct source of a path; make one if there is none. */
static struct source *file_sd_find_source(struct files *f, const char *path)
{
	for (size_t i = 0; i < f->sources.count; i++) {
		if (!strcmp(f->sources.v[i].path, path))
			return &f->sources.v[i];
	}
	*vec_add(&f->sources) = (struct source){ .path = mem_strdup(path) };
	return &f->sources.v[f->sources.count - 1];
}

/* Return whether a file is parsed as JSON; all others are YAML. */
static bool file_sd_is_json(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && (!strcmp(dot, ".json") || !strcmp(dot, ".JSON"));
}

/* Return how many bytes of memory the target groups of a source take. */
static size_t source_bytes(const struct source *s)
{
	return s->groups ? s->groups->arena.used : 0;
}

/*
 * Check that the target groups of all files of the entry together fit into
 * TARGET_GROUPS_BYTES_MAX if those of the source `s` take `size` bytes.
 * ERR_TOOBIG: they do not fit.
 */
static int check_room(const struct files *f, const struct source *s,
		      size_t size, struct err *err)
{
	if (f->bytes - source_bytes(s) + size <= TARGET_GROUPS_BYTES_MAX)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"%s: refused, because the targets of this file_sd_config would then take more than %ld MB of memory; spread the files over more entries",
		s->path, TARGET_GROUPS_BYTES_MAX / MIB);
}

/*
 * Read the file of the source `s`, and replace the target groups of `s`, unless
 * the file still has the text that these groups were made from. On errors the
 * old groups stay. If the groups were replaced, *changed is set to true;
 * otherwise *changed stays as it was.
 */
static int read_source(struct files *f, struct source *s, bool *changed,
		       struct err *err)
{
	const struct group_meta meta = { META_FILE, str_of(s->path) };
	struct buf text = buf_init(YAML_TEXT_MAX);
	struct target_groups *g = NULL;
	uint64_t hash;
	int rc = file_slurp(s->path, &text, err);

	hash = hash_bytes(buf_bytes(&text));
	if (!rc && !(s->groups && s->hash == hash)) {
		/*
		 * Groups usually take more memory than their text. If not even
		 * the text fits, do not parse it.
		 */
		rc = check_room(f, s, text.len, err);
		if (!rc)
			rc = provider_parse(s->path, buf_bytes(&text),
					    file_sd_is_json(s->path), &meta, &g,
					    err);
		if (!rc)
			rc = check_room(f, s, g->arena.used, err);
		if (rc) {
			f->is_full |= rc == ERR_TOOBIG;
			target_groups_unref(g);
		} else {
			f->bytes += g->arena.used - source_bytes(s);
			target_groups_unref(s->groups);
			s->groups = g;
			s->hash = hash;
			*changed = true;
		}
	}
	buf_fini(&text);
	return rc;
}

/*
 * Warn that no file matches `files` (a path or a pattern), but only until the
 * provider has reported a result or a failure: from then on files may come and
 * go.
 */
static void tell_absent(const struct provider *p, const char *files)
{
	if (!p->asked)
		log_event(p->log, LOG_WARN,
			  "no file matches a pattern of file_sd_configs yet",
			  LOG_FIELDS(log_text("files", files)));
}

/*
 * Read the file `path`, which matches a pattern, and set *changed to true if
 * its target groups have changed. A file that exists but cannot be read or
 * parsed is marked as found, so that its old target groups stay.
 */
static void file_sd_add_item(struct provider *p, const char *path,
			     bool *changed)
{
	struct source *s = file_sd_find_source(p->data, path);
	bool fresh = false;
	struct err err;

	if (s->there)
		return; /* already read: two patterns match it */
	if (!read_source(p->data, s, &fresh, &err)) {
		s->there = true;
		*changed |= fresh;
		if (fresh)
			provider_tell(p, path, s->groups);
	} else if (err.code == ERR_NOTFOUND) {
		tell_absent(p, path);
	} else {
		s->there = true;
		provider_failed(p, path, &err);
	}
}

/*
 * Drop the sources whose files this refresh has not found. The other sources
 * keep their order, because it determines the order of the targets.
 */
static void forget_gone(struct provider *p, bool *changed)
{
	struct files *f = p->data;

	for (size_t i = f->sources.count; i-- > 0;) {
		struct source *s = &f->sources.v[i];

		if (s->there)
			continue;
		if (s->groups) {
			*changed = true;
			provider_tell(p, s->path, NULL);
		}
		f->bytes -= source_bytes(s);
		/*
		 * If the source had targets, refresh again: a file that was
		 * refused may now fit into memory.
		 */
		if (f->is_full && s->groups)
			provider_refresh_within(p, BEGIN_MS);
		source_fini(s);
		vec_remove(&f->sources, i, 1);
	}
}

/*
 * The reason why glob() has failed in find_files(). The variable is
 * thread-local, because glob() passes no context to on_folder().
 */
static _Thread_local struct err folder_failure;

/*
 * Called by glob() if it cannot read `path` as a folder; `error` is the value
 * of errno. Returns 0 if `path` does not exist or is not a folder: `path` then
 * contains no files, and glob() goes on. Otherwise returns 1, which aborts
 * glob(), because the folder may contain matching files.
 */
static int on_folder(const char *path, int error)
{
	if (error == ENOENT || error == ENOTDIR)
		return 0;
	errno = error;
	err_sys(&folder_failure, "cannot read the folder %s", path);
	return 1;
}

/*
 * Expand a pattern. A path without wildcards is returned even if no file
 * exists, so that read_source() reports a missing or unreadable file. If the
 * return value is neither 0 nor GLOB_NOMATCH, glob() has failed, and
 * folder_failure has the reason.
 */
static int find_files(const char *pattern, glob_t *g)
{
	int flags = GLOB_PERIOD;

	*g = (glob_t){ 0 };
	err_set(&folder_failure, ERR_IO,
		"cannot expand the pattern: not enough memory");
	if (!strpbrk(pattern, "*?["))
		flags |= GLOB_NOCHECK;
	/*
	 * glob() is unsafe with threads only where it expands "~", which these
	 * flags do not ask for.
	 */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	return glob(pattern, flags, on_folder, g);
}

/*
 * Mark the files of all sources as found. Called when a pattern could not be
 * expanded, because it is then unknown which files are gone.
 */
static void keep_all(struct files *f)
{
	for (size_t i = 0; i < f->sources.count; i++)
		f->sources.v[i].there = true;
}

/*
 * Read the files that match a pattern. Returns false if the pattern could not
 * be expanded.
 */
static bool visit_pattern(struct provider *p, const char *pattern,
			  bool *changed)
{
	glob_t g;
	int rc = find_files(pattern, &g);

	if (rc == GLOB_NOMATCH)
		tell_absent(p, pattern);
	for (size_t i = 0; !rc && i < g.gl_pathc; i++)
		file_sd_add_item(p, g.gl_pathv[i], changed);
	globfree(&g);
	if (rc && rc != GLOB_NOMATCH) {
		provider_failed(p, pattern, &folder_failure);
		return false;
	}
	return true;
}

/* Report the target groups of all files to the manager. */
static void file_sd_publish(struct provider *p, struct files *f)
{
	struct target_groups_list all = { 0 };

	for (size_t i = 0; i < f->sources.count; i++) {
		if (f->sources.v[i].groups)
			*vec_add(&all) =
				target_groups_ref(f->sources.v[i].groups);
	}
	provider_found(p, &all);
	target_groups_list_fini(&all);
}

/*
 * Read all files, and report the target groups if they have changed. Folders
 * are watched before files are read, so that a change in between is not missed.
 * The first result is reported even if it has no targets, because the manager
 * waits for a result of each discovery of a job.
 */
static void files_refresh(struct provider *p)
{
	struct files *f = p->data;
	bool changed = !p->asked;
	bool complete = true;

	watch_folders(f);
	f->is_full = false;
	for (size_t i = 0; i < f->sources.count; i++)
		f->sources.v[i].there = false;
	for (size_t i = 0; i < f->patterns.count; i++)
		complete &= visit_pattern(p, f->patterns.v[i], &changed);
	if (!complete)
		keep_all(f);
	forget_gone(p, &changed);
	if (changed)
		file_sd_publish(p, f);
	provider_refreshed(p);
}

/* Stop watching and free everything. */
static void files_close(struct provider *p)
{
	struct files *f = p->data;

	if (f->inotify >= 0) {
		http_unwatch(p->client, f->inotify);
		close(f->inotify);
	}
	for (size_t i = 0; i < f->patterns.count; i++)
		mem_free(f->patterns.v[i]);
	for (size_t i = 0; i < f->sources.count; i++)
		source_fini(&f->sources.v[i]);
	vec_fini(&f->patterns);
	vec_fini(&f->sources);
	mem_free(f);
}

/* Read a file, and call tell() with its first mistake, if there is one. */
static void check_file(const char *path,
		       void (*tell)(void *ctx, const char *text), void *ctx)
{
	struct files alone = { .inotify = -1 };
	struct source s = { .path = mem_strdup(path) };
	bool changed;
	struct err err;

	if (read_source(&alone, &s, &changed, &err))
		tell(ctx, err.msg);
	source_fini(&s);
}

/*
 * Read all files of an entry, and call tell() with the first mistake of each
 * file. Also call tell() for each pattern that no file matches or that cannot
 * be expanded.
 */
static void files_examine(const struct discovery_config *base,
			  void (*tell)(void *ctx, const char *text), void *ctx)
{
	const struct file_config *c = (const struct file_config *)base;

	for (size_t i = 0; i < c->file_count; i++) {
		char *pattern = mem_strndup(c->files[i]);
		glob_t g;
		int rc = find_files(pattern, &g);

		if (rc) {
			char *text = rc == GLOB_NOMATCH ?
					     mem_printf("no file matches %s",
							pattern) :
					     mem_printf("%s: %s", pattern,
							folder_failure.msg);

			tell(ctx, text);
			mem_free(text);
		}
		for (size_t k = 0; k < g.gl_pathc; k++)
			check_file(g.gl_pathv[k], tell, ctx);
		globfree(&g);
		mem_free(pattern);
	}
}

const struct provider_kind provider_file = {
	.name = "file",
	.refresh_ms = 300000,
	.config_size = sizeof(struct file_config),
	.fields = file_config_fields,
	.check = file_config_check,
	.open = files_open,
	.refresh = files_refresh,
	.close = files_close,
	.examine = files_examine,
};
