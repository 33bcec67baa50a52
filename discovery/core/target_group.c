/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/core/target_group.h"

#include <arpa/inet.h>
#include <stddef.h>

#include "base/mem.h"
#include "discovery/core/text_pool.h"

#define LABELS_OF_GROUP 500 /* maximum number of labels of a group */
#define LABEL_SHOWN_MAX 64  /* bytes of a label name that a message shows */

/* Maximum number of labels of all targets together; see check_volume(). */
#define VOLUME_LABELS_MAX 5000000

struct target_groups *target_groups_new(void)
{
	struct target_groups *g = mem_new(struct target_groups);

	atomic_init(&g->refs, 1);
	return g;
}

struct target_groups *target_groups_ref(struct target_groups *g)
{
	atomic_fetch_add(&g->refs, 1);
	return g;
}

void target_groups_unref(struct target_groups *g)
{
	if (!g || atomic_fetch_sub(&g->refs, 1) > 1)
		return;
	for (size_t i = 0; i < g->part_count; i++)
		target_groups_unref(g->parts[i]);
	text_pool_unref(g->texts);
	arena_fini(&g->arena);
	mem_free(g);
}

void target_groups_share(struct target_groups_list *l,
			 const struct target_groups_list *from)
{
	for (size_t i = 0; i < from->count; i++)
		*vec_add(l) = target_groups_ref(from->v[i]);
}

void target_groups_list_fini(struct target_groups_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		target_groups_unref(l->v[i]);
	vec_fini(l);
}

/* The group being decoded, with the arena that owns its text. */
struct decoding {
	struct arena *arena;
	struct target_group *group;
};

/*
 * The functions from here to target_groups_decode() decode lists of target
 * groups.
 */

/*
 * Decode the addresses of a group. Each becomes a target with one label,
 * __address__.
 */
static void decode_targets(struct yaml *y, const struct yaml_node *n,
			   void *field)
{
	struct decoding *d = field;
	struct target_group *g = d->group;

	if (!yaml_expect(y, n, YAML_LIST, "targets"))
		return;
	/*
	 * Drop the targets of an earlier list: a group in JSON can have both
	 * "Targets" and "targets", which lower_keys() in provider.c makes
	 * equal, and the last list counts.
	 */
	g->target_count = 0;
	g->targets = arena_array(d->arena, struct label_list, n->count);
	for (size_t i = 0; i < n->count; i++) {
		struct label *l = arena_new(d->arena, struct label);

		l->name = str_of("__address__");
		yaml_text(y, n->items[i], &l->value);
		l->value = arena_str(d->arena, l->value);
		g->targets[g->target_count++] =
			(struct label_list){ .v = l, .count = 1 };
	}
}

/*
 * Check a label as labels_build() would later, so that mistakes are reported
 * with their position.
 */
static void target_group_check_label(struct yaml *y,
				     const struct yaml_node *key,
				     const struct label *l)
{
	/*
	 * Nodes that were parsed from JSON have no positions, so the messages
	 * also name the label.
	 */
	const struct str name = str_clip(l->name, LABEL_SHOWN_MAX);

	if (!l->name.len)
		yaml_error(y, key, "labels: a label name is empty");
	else if (!str_is_utf8(l->name))
		yaml_error(y, key, "labels: a label name is not UTF-8");
	else if (!str_is_utf8(l->value))
		yaml_error(y, key, "labels: the value of %.*s is not UTF-8",
			   STR_ARG(name));
	else if (str_is(l->name, LABEL_TENANT))
		yaml_error(y, key, "label %s is reserved", LABEL_TENANT);
	else if (l->value.len > LABEL_VALUE_MAX)
		yaml_error(y, key,
			   "labels: the value of %.*s is longer than %d bytes",
			   STR_ARG(name), LABEL_VALUE_MAX);
	else if (l->name.len > LABEL_NAME_MAX)
		yaml_error(y, key,
			   "labels: the name %.*s… is longer than %d bytes",
			   STR_ARG(name), LABEL_NAME_MAX);
}

/*
 * Check the limits on the labels of all targets together. Each target will get
 * a copy of the labels of its group, so a small file could otherwise fill the
 * memory (docs/decisions.md, 75).
 */
static void check_volume(struct yaml *y, const struct yaml_node *list,
			 const struct target_groups *g)
{
	uint64_t bytes = 0;
	uint64_t count = 0;

	for (size_t i = 0; i < g->count; i++) {
		const struct label_list *l = &g->v[i].labels;
		uint64_t own = 0;

		for (size_t k = 0; k < l->count; k++)
			own += l->v[k].name.len + l->v[k].value.len;
		bytes += own * g->v[i].target_count;
		count += l->count * g->v[i].target_count;
	}
	if (bytes > TARGET_GROUPS_BYTES_MAX || count > VOLUME_LABELS_MAX)
		yaml_error(
			y, list,
			"the target groups are too large: they exceed %ld MB or %d labels in all, because a label of a group counts once for each of its targets; use fewer labels, or split the list",
			TARGET_GROUPS_BYTES_MAX / MIB, VOLUME_LABELS_MAX);
}

/* Decode the labels of a group. */
static void decode_labels(struct yaml *y, const struct yaml_node *n,
			  void *field)
{
	struct decoding *d = field;
	struct label_list *l = &d->group->labels;

	if (!yaml_expect(y, n, YAML_MAP, "labels"))
		return;
	if (n->count / 2 > LABELS_OF_GROUP) {
		yaml_error(y, n, "the target group has more than %d labels",
			   LABELS_OF_GROUP);
		return;
	}
	yaml_unique_keys(y, n);
	/*
	 * Allocate one element more than the map has labels, because set_meta()
	 * may add a label.
	 */
	l->count = 0;
	l->v = arena_array(d->arena, struct label, n->count / 2 + 1);
	for (size_t i = 0; i < n->count; i += 2) {
		struct label *one = &l->v[l->count++];

		/*
		 * Treat the value as a secret: a parameter of requests may be a
		 * token.
		 */
		if (str_starts(n->items[i]->text, str_of(LABEL_PARAM)))
			yaml_secret(y, n->items[i + 1], &one->value);
		else
			yaml_text(y, n->items[i + 1], &one->value);
		one->name = arena_str(d->arena, n->items[i]->text);
		one->value = arena_str(d->arena, one->value);
		target_group_check_label(y, n->items[i], one);
	}
}

/*
 * Set the label `meta`, which names the file or URL of the group. A label of
 * that name in the group itself is replaced, so that a group cannot forge its
 * source. If `meta` is NULL, do nothing.
 */
static void set_meta(const struct decoding *d, const struct group_meta *meta)
{
	struct label_list *l = &d->group->labels;
	size_t i = 0;

	if (!meta)
		return;
	if (!l->v)
		l->v = arena_array(d->arena, struct label, 1);
	while (i < l->count && !str_is(l->v[i].name, meta->name))
		i++;
	l->count += i == l->count;
	l->v[i] = (struct label){
		arena_str(d->arena, str_of(meta->name)),
		arena_str(d->arena, meta->value),
	};
}

struct target_groups *target_groups_decode(struct yaml *y,
					   const struct yaml_node *list,
					   const char *what,
					   const struct group_meta *meta)
{
	static const struct yaml_field fields[] = {
		{ "targets", decode_targets, 0, NULL },
		{ "labels", decode_labels, 0, NULL },
		{ 0 },
	};
	struct target_groups *g = target_groups_new();

	if (!yaml_expect(y, list, YAML_LIST, what))
		return g;
	g->v = arena_array(&g->arena, struct target_group, list->count);
	for (size_t i = 0; i < list->count; i++) {
		struct decoding d = { &g->arena, &g->v[g->count++] };

		yaml_decode(y, list->items[i], what, fields, &d);
		set_meta(&d, meta);
		g->targets += d.group->target_count;
	}
	check_volume(y, list, g);
	return g;
}

/*
 * Return whether the text in brackets at the start of `t` is an IPv6 address.
 * If it is, *end is the text after the brackets.
 */
static bool target_group_read_v6(struct str t, struct str *end)
{
	const char *close = memchr(t.ptr, ']', t.len);
	size_t len = close ? (size_t)(close - t.ptr - 1) : 0;
	char text[INET6_ADDRSTRLEN];
	uint8_t bytes[16];

	if (!len || len >= sizeof(text))
		return false;
	memcpy(text, t.ptr + 1, len);
	text[len] = 0;
	*end = (struct str){ close + 1, t.len - len - 2 };
	return inet_pton(AF_INET6, text, bytes) == 1;
}

/* Return whether `t` is ":" followed by a port. */
static bool target_group_is_port(struct str t)
{
	int64_t number;

	if (t.len < 2 || *t.ptr != ':')
		return false;
	t.ptr++;
	t.len--;
	return str_to_i64(t, &number) && number >= 1 && number <= 65535;
}

bool target_address_is_ok(struct str t)
{
	const char *colon;
	struct str end;

	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.ptr[i];

		/*
		 * Reject characters that no host name contains. Some of them
		 * would end the host in a URL, or add a user or a path to the
		 * URL.
		 */
		if (c <= ' ' || c >= 0x7f || strchr("/@?#\\\"<>^`{|};,", c))
			return false;
	}
	if (t.len && *t.ptr == '[')
		return target_group_read_v6(t, &end) &&
		       (!end.len || target_group_is_port(end));
	if (!t.len || memchr(t.ptr, '[', t.len) || memchr(t.ptr, ']', t.len))
		return false;
	/*
	 * An IPv6 address without brackets is refused, because its last part
	 * could also be a port.
	 */
	colon = memchr(t.ptr, ':', t.len);
	end = (struct str){ colon,
			    colon ? t.len - (size_t)(colon - t.ptr) : 0 };
	return !colon || (colon > t.ptr && target_group_is_port(end));
}
