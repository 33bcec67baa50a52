/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of labels that samples have: they are durable before a profile is
 * stored, blocks carry them, and what is not known may be any name.
 */
#include "tsdb/block/known_labels.h"

#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"

TestSuite(known_labels, .timeout = 60);

struct scene {
	struct tempdir dir;
	struct hook hook;
	struct known_labels l;
};

/* Read the file again, as a start does. */
static int load(struct scene *s, bool has_data)
{
	struct err err = { .msg = "" };

	known_labels_fini(&s->l);
	known_labels_init(&s->l, &s->hook.fs, s->dir.path);
	return known_labels_load(&s->l, has_data, false, &err);
}

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .dir = tempdir_make(), .hook = hook_make() };
	known_labels_init(&s->l, &s->hook.fs, s->dir.path);
}

static void scene_fini(struct scene *s)
{
	known_labels_fini(&s->l);
	tempdir_fini(&s->dir);
}

static int note(struct scene *s, const char *name)
{
	const struct str names[] = { str_of("a"), str_of(name) };
	const struct sample sample = { .label_names = names,
				       .label_name_count = 2 };
	struct err err;

	return known_labels_note(&s->l, &sample, &err);
}

static bool may_have(struct scene *s, const char *name)
{
	return known_labels_may_have(&s->l, str_of(name));
}

Test(known_labels, names_are_there_after_a_restart)
{
	struct scene s;

	scene_init(&s);
	cr_assert(!load(&s, false));
	cr_assert(!may_have(&s, "a"));
	cr_assert(!note(&s, "b.c"));
	cr_assert(may_have(&s, "a"));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "a"));
	cr_assert(may_have(&s, "b.c"));
	cr_assert(!may_have(&s, "b"));
	cr_assert(!may_have(&s, ""));
	scene_fini(&s);
}

Test(known_labels, a_database_without_the_file_may_have_any_name)
{
	struct scene s;

	scene_init(&s);
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "x"));
	/* It stays so, because profiles without names are still there. */
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "x"));
	scene_fini(&s);
}

Test(known_labels, a_damaged_file_may_have_had_any_name)
{
	struct scene s;
	char *path;
	FILE *f;

	scene_init(&s);
	cr_assert(!load(&s, false));
	path = mem_printf("%s/sample-labels", s.dir.path);
	f = fopen(path, "w");
	cr_assert(f && fputs("no names", f) >= 0 && !fclose(f));
	cr_assert(load(&s, true) == ERR_CORRUPT);
	cr_assert(may_have(&s, "x"));
	/* The damage is told once. */
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "x"));
	mem_free(path);
	scene_fini(&s);
}

Test(known_labels, too_many_names_are_any_name)
{
	struct scene s;
	char name[16];

	scene_init(&s);
	cr_assert(!load(&s, false));
	for (int i = 0; i < KNOWN_LABELS_MAX - 1; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		cr_assert(!note(&s, name));
	}
	cr_assert(!may_have(&s, "x"));
	cr_assert(!note(&s, "one more"));
	cr_assert(may_have(&s, "x"));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "x"));
	scene_fini(&s);
}

Test(known_labels, more_names_than_were_told_are_any_name)
{
	const struct sample more = { .more_label_names = true };
	struct scene s;
	struct err err;

	scene_init(&s);
	cr_assert(!load(&s, false));
	cr_assert(!known_labels_note(&s.l, &more, &err));
	cr_assert(may_have(&s, "x"));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "x"));
	scene_fini(&s);
}

Test(known_labels, what_is_no_label_of_a_series_is_not_noted)
{
	char *longer = mem_zalloc(KNOWN_LABEL_BYTES_MAX + 2, 1);
	struct scene s;

	scene_init(&s);
	cr_assert(!load(&s, false));
	memset(longer, 'n', KNOWN_LABEL_BYTES_MAX);
	cr_assert(!note(&s, longer));
	cr_assert(may_have(&s, longer));
	longer[KNOWN_LABEL_BYTES_MAX] = 'n';
	cr_assert(!note(&s, longer));
	cr_assert(!note(&s, "\xff"));
	cr_assert(!may_have(&s, longer) && !may_have(&s, "\xff"));
	cr_assert(!may_have(&s, "x"));
	scene_fini(&s);
	mem_free(longer);
}

Test(known_labels, a_file_that_cannot_be_read_is_kept)
{
	struct scene s;
	char *path;

	scene_init(&s);
	cr_assert(!load(&s, false));
	cr_assert(!note(&s, "b"));
	hook_arm(&s.hook, FS_READ, "sample-labels", EIO, -1);
	cr_assert(load(&s, true) == ERR_IO);
	cr_assert(may_have(&s, "x"));
	s.hook.times = 0;
	path = mem_printf("%s/sample-labels.unread", s.dir.path);
	cr_assert(access(path, F_OK));
	/* It must not be replaced by a file without its names. */
	cr_assert(!note(&s, "c"));
	cr_assert(!access(path, F_OK));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "x"));
	mem_free(path);
	scene_fini(&s);
}

Test(known_labels, a_profile_is_refused_until_its_names_are_written)
{
	struct scene s;

	scene_init(&s);
	cr_assert(!load(&s, false));
	hook_arm(&s.hook, FS_WRITE, "sample-labels", ENOSPC, 2);
	cr_assert(note(&s, "b") == ERR_NOSPACE);
	cr_assert(note(&s, "b") == ERR_NOSPACE);
	cr_assert(!note(&s, "b"));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "b"));
	scene_fini(&s);
}

Test(known_labels, blocks_carry_the_names)
{
	struct meta known = { 0 };
	struct meta unknown = { 0 };
	struct meta copy = { 0 };
	struct scene s;

	scene_init(&s);
	cr_assert(!load(&s, false));
	known.has_sample_labels = true;
	meta_add_sample_label(&known, str_of("from a block"));
	known_labels_note_block(&s.l, &known);
	cr_assert(may_have(&s, "from a block"));
	/* The name is not in the file: that of a new profile must be. */
	cr_assert(!note(&s, "from a block"));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "from a block"));
	known_labels_copy(&s.l, &copy);
	cr_assert(copy.has_sample_labels && copy.sample_label_count == 2);
	meta_fini(&copy);
	/* A block that tells no names may have any. */
	known_labels_note_block(&s.l, &unknown);
	cr_assert(may_have(&s, "x"));
	known_labels_copy(&s.l, &copy);
	cr_assert(!copy.has_sample_labels && !copy.sample_label_count);
	/* When the block is gone, others may be known again. */
	cr_assert(!note(&s, "later"));
	cr_assert(!load(&s, true));
	cr_assert(may_have(&s, "later") && !may_have(&s, "x"));
	meta_fini(&known);
	meta_fini(&copy);
	scene_fini(&s);
}
