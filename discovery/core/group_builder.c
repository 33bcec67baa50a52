/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/group_builder.h"

#include <ctype.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"

#define ADDRESS "__address__"

void group_builder_init(struct group_builder *b)
{
	*b = (struct group_builder){ .groups = target_groups_new() };
}

void group_builder_fini(struct group_builder *b)
{
	target_groups_unref(b->groups);
	vec_fini(&b->list);
	vec_fini(&b->targets);
	vec_fini(&b->labels);
	vec_fini(&b->names);
	table_fini(&b->names_by_hash);
	buf_fini(&b->name);
}

/*
 * Move the collected labels to the arena of the groups, and return them there.
 */
static struct label_list builder_take_labels(struct group_builder *b)
{
	struct label_list l = { .count = b->labels.count };

	l.v = arena_array(&b->groups->arena, struct label, l.count);
	if (l.count)
		memcpy(l.v, b->labels.v, l.count * sizeof(*l.v));
	b->labels.count = 0;
	return l;
}

/*
 * Store the collected labels as those of the open target or, if no target is
 * open, of the open group.
 */
static void end_labels(struct group_builder *b)
{
	struct target_group *g = &b->list.v[b->list.count - 1];

	if (b->in_target)
		*vec_add(&b->targets) = builder_take_labels(b);
	else
		g->labels = builder_take_labels(b);
	b->in_target = false;
}

/*
 * Return how many bytes the labels of a group add to `volume` for each of its
 * targets. The text of names does not count, because each name is stored once.
 */
static size_t volume_of(const struct label_list *l)
{
	size_t bytes = l->count * sizeof(*l->v);

	for (size_t i = 0; i < l->count; i++)
		bytes += l->v[i].value.len;
	return bytes;
}

/* End the group that is open, if there is one. */
static void end_group(struct group_builder *b)
{
	struct target_group *g;
	size_t count;

	if (!b->list.count)
		return;
	end_labels(b);
	g = &b->list.v[b->list.count - 1];
	count = b->targets.count;
	g->target_count = count;
	g->targets = arena_array(&b->groups->arena, struct label_list, count);
	if (count)
		memcpy(g->targets, b->targets.v, count * sizeof(*g->targets));
	b->volume += count * volume_of(&g->labels);
	b->is_over |= b->volume > TARGET_GROUPS_BYTES_MAX;
	b->groups->targets += count;
	b->targets.count = 0;
}

void group_begin(struct group_builder *b)
{
	end_group(b);
	*vec_add(&b->list) = (struct target_group){ 0 };
}

void group_target(struct group_builder *b)
{
	if (b->is_over)
		return;
	end_labels(b);
	b->in_target = true;
	b->volume += sizeof(struct label_list);
	b->is_over |= b->volume > TARGET_GROUPS_BYTES_MAX;
}

/* Callback of table_find(): whether name number `number` equals `key`. */
static bool same_name(const void *ctx, uint32_t number, const void *key)
{
	const struct group_builder *b = ctx;
	const struct str *name = key;

	return str_eq(b->names.v[number], *name);
}

/*
 * Return the copy of a name in the arena of the groups; make the copy if there
 * is none.
 */
static struct str intern_name(struct group_builder *b, struct str name)
{
	uint64_t hash = hash_key(bytes_of(name));
	uint32_t n = table_find(&b->names_by_hash, hash, same_name, b, &name);

	if (n != TABLE_NONE)
		return b->names.v[n];
	table_add(&b->names_by_hash, hash, (uint32_t)b->names.count);
	*vec_add(&b->names) = arena_str(&b->groups->arena, name);
	return b->names.v[b->names.count - 1];
}

/*
 * Add a label, unless its value is empty or the label cannot be kept; see
 * group_builder.h. Once the targets exceed the limit, nothing more is stored.
 */
static void builder_add_label(struct group_builder *b, struct str name,
			      struct str value)
{
	struct label *l;

	if (!value.len || b->is_over || name.len > LABEL_NAME_MAX ||
	    value.len > LABEL_VALUE_MAX || !str_is_utf8(value))
		return;
	l = vec_add(&b->labels);
	l->name = intern_name(b, name);
	l->value = arena_str(&b->groups->arena, value);
	b->volume += sizeof(*l) + value.len;
	b->is_over |= b->volume > TARGET_GROUPS_BYTES_MAX;
}

void group_label(struct group_builder *b, const char *name, struct str value)
{
	builder_add_label(b, str_of(name), value);
}

/*
 * Append a name, with _ for each character that is not allowed. A character of
 * several bytes becomes one _, because only its first byte counts.
 */
static void add_clean(struct buf *out, struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		unsigned char c = (unsigned char)name.ptr[i];

		if ((c & 0xc0) == 0x80)
			continue;
		buf_byte(out, c < 0x80 && isalnum(c) ? c : '_');
	}
}

void group_label_of(struct group_builder *b, const char *prefix,
		    struct str name, struct str value)
{
	if (b->is_over)
		return;
	b->name.len = 0;
	buf_str(&b->name, prefix);
	add_clean(&b->name, name);
	builder_add_label(b, str_from(buf_bytes(&b->name)), value);
}

void group_label_int(struct group_builder *b, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	group_label(b, name, str_of(text));
}

void group_address(struct group_builder *b, struct str host, int64_t port)
{
	bool v6 = memchr(host.ptr, ':', host.len) != NULL;
	struct buf text = { 0 };

	if (b->is_over)
		return;
	if (port < 0) {
		group_label(b, ADDRESS, host);
		return;
	}
	buf_printf(&text, v6 ? "[%.*s]:%lld" : "%.*s:%lld", STR_ARG(host),
		   (long long)port);
	group_label(b, ADDRESS, str_from(buf_bytes(&text)));
	buf_fini(&text);
}

int group_builder_check(const struct group_builder *b, struct err *err)
{
	if (!b->is_over)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"the labels of all targets together take more than %ld MB (a label that several targets have counts once for each target): let this entry of *_sd_configs find fewer targets, or split it",
		TARGET_GROUPS_BYTES_MAX / MIB);
}

int group_builder_take(struct group_builder *b, struct target_groups **out,
		       struct err *err)
{
	struct target_groups *g = b->groups;

	end_group(b);
	if (group_builder_check(b, err))
		return ERR_TOOBIG;
	g->count = b->list.count;
	g->v = arena_array(&g->arena, struct target_group, g->count);
	if (g->count)
		memcpy(g->v, b->list.v, g->count * sizeof(*g->v));
	*out = g;
	b->groups = NULL;
	group_builder_fini(b);
	group_builder_init(b);
	return 0;
}
