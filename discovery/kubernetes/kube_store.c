/* SPDX-License-Identifier: Apache-2.0 */
#include "discovery/kubernetes/kube_store.h"

#include "base/hash.h"
#include "base/mem.h"
#include "discovery/rest/document.h"

/*
 * Bytes that an object takes in addition to its key and to the arenas of its
 * groups: the struct of the object, the struct of its groups, its slots in the
 * table, and the overhead of the allocator. The arenas have the arrays of the
 * groups, and those texts that are not in the text pool.
 */
#define OBJECT_ROOM 300

void kube_stores_init(struct kube_stores *s)
{
	*s = (struct kube_stores){ .texts = text_pool_new(),
				   .bytes_max = KUBE_BYTES_MAX };
	group_builder_init(&s->builder);
}

void kube_object_join(struct kube_stores *s, struct kube_object *o,
		      struct target_groups *joined)
{
	if (o->joined)
		s->bytes -= o->joined->arena.used;
	if (joined)
		s->bytes += joined->arena.used;
	target_groups_unref(o->joined);
	o->joined = joined;
}

/*
 * Return the bytes that an object takes in addition to the arenas of its
 * groups.
 */
static size_t kube_object_room(const char *key)
{
	return OBJECT_ROOM + strlen(key);
}

/* Free what an object owns. */
static void kube_object_fini(struct kube_stores *s, struct kube_object *o)
{
	s->bytes -= o->own->arena.used + kube_object_room(o->key);
	kube_object_join(s, o, NULL);
	target_groups_unref(o->own);
	mem_free(o->key);
}

void kube_stores_fini(struct kube_stores *s)
{
	for (size_t i = 0; i < KUBE_RESOURCES; i++) {
		struct kube_store *one = &s->of[i];

		for (size_t k = 0; k < one->objects.count; k++)
			kube_object_fini(s, &one->objects.v[k]);
		vec_fini(&one->objects);
		table_fini(&one->by_key);
	}
	group_builder_fini(&s->builder);
	text_pool_unref(s->texts);
}

/* Comparison function of the table of keys. */
static bool kube_same_key(const void *ctx, uint32_t number, const void *key)
{
	const struct kube_store *one = ctx;

	return !strcmp(one->objects.v[number].key, key);
}

static uint64_t kube_key_hash(const char *key)
{
	return hash_key(bytes_of(str_of(key)));
}

/* Return the number of the object with the key `key`, or TABLE_NONE. */
static uint32_t kube_find_key(const struct kube_store *one, const char *key)
{
	return table_find(&one->by_key, kube_key_hash(key), kube_same_key, one,
			  key);
}

/* Write the key of an object. */
static void kube_write_key(struct buf *key, struct str namespace,
			   struct str name)
{
	buf_add(key, namespace.ptr, namespace.len);
	buf_str(key, "/");
	buf_add(key, name.ptr, name.len);
}

/* Remove object number `n`; the last object gets the number `n`. */
static void kube_remove_at(struct kube_stores *s, struct kube_store *one,
			   uint32_t n)
{
	uint32_t last = (uint32_t)one->objects.count - 1;
	struct kube_object *o = &one->objects.v[n];

	table_remove(&one->by_key, kube_key_hash(o->key), n);
	kube_object_fini(s, o);
	if (n != last) {
		*o = one->objects.v[last];
		table_move(&one->by_key, kube_key_hash(o->key), last, n);
	}
	one->objects.count--;
	s->changed = true;
}

/* Make the compact groups of `object`; the caller owns a reference to *out. */
static int kube_make_own(struct kube_stores *s, enum kube_resource_id id,
			 const struct yaml_node *object,
			 struct target_groups **out, struct err *err)
{
	struct target_groups *g;
	int rc;

	group_begin(&s->builder);
	kube_resources[id].map(&s->builder, object);
	rc = group_builder_take(&s->builder, &g, err);
	if (rc) {
		group_builder_fini(&s->builder);
		group_builder_init(&s->builder);
		return rc;
	}
	text_pool_renew(&s->texts);
	*out = target_groups_compact(g, s->texts);
	target_groups_unref(g);
	return 0;
}

/*
 * Set the groups of an object to `own`, unless the old groups are equal; take
 * over the reference to `own`.
 */
static void kube_object_set(struct kube_stores *s, struct kube_object *o,
			    struct target_groups *own)
{
	if (o->own && target_groups_eq(o->own, own)) {
		target_groups_unref(own);
		return;
	}
	s->bytes += own->arena.used;
	if (o->own)
		s->bytes -= o->own->arena.used;
	target_groups_unref(o->own);
	o->own = own;
	s->changed = true;
}

/*
 * Add or replace the object with the key `key`, whose groups are `own`. Take
 * over the reference to `own`, also on an error.
 */
static int kube_put_key(struct kube_stores *s, enum kube_resource_id id,
			const char *key, struct target_groups *own,
			uint32_t list, struct err *err)
{
	struct kube_store *one = &s->of[id];
	uint32_t n = kube_find_key(one, key);
	size_t room = n == TABLE_NONE ? kube_object_room(key) : 0;
	struct kube_object *o = n == TABLE_NONE ? NULL : &one->objects.v[n];
	/* The groups that `own` replaces are freed, so they do not count. */
	size_t old = o && o->own ? o->own->arena.used : 0;

	if (s->bytes - old + room + own->arena.used > s->bytes_max) {
		if (n != TABLE_NONE)
			kube_remove_at(s, one, n);
		target_groups_unref(own);
		return err_set(
			err, ERR_TOOBIG,
			"the objects take more than %ld MB of memory, so some are left out: limit namespaces, or set selectors",
			(long)(s->bytes_max / MIB));
	}
	if (n == TABLE_NONE) {
		n = (uint32_t)one->objects.count;
		*vec_add(&one->objects) =
			(struct kube_object){ .key = mem_strdup(key) };
		table_add(&one->by_key, kube_key_hash(key), n);
		s->bytes += room;
	}
	o = &one->objects.v[n];
	o->list = list;
	kube_object_set(s, o, own);
	return 0;
}

int kube_store_put(struct kube_stores *s, enum kube_resource_id id,
		   const struct yaml_node *object, uint32_t list,
		   struct err *err)
{
	struct str name = doc_text(object, "metadata.name");
	struct target_groups *own;
	struct buf key = { 0 };
	int rc;

	if (!name.len)
		return err_set(err, ERR_INVALID,
			       "an object of the answer has no name");
	rc = kube_make_own(s, id, object, &own, err);
	if (rc) {
		kube_store_remove(s, id, object);
		return rc;
	}
	kube_write_key(&key, doc_text(object, "metadata.namespace"), name);
	rc = kube_put_key(s, id, buf_cstr(&key), own, list, err);
	buf_fini(&key);
	return rc;
}

void kube_store_remove(struct kube_stores *s, enum kube_resource_id id,
		       const struct yaml_node *object)
{
	struct buf key = { 0 };
	uint32_t n;

	kube_write_key(&key, doc_text(object, "metadata.namespace"),
		       doc_text(object, "metadata.name"));
	n = kube_find_key(&s->of[id], buf_cstr(&key));
	if (n != TABLE_NONE)
		kube_remove_at(s, &s->of[id], n);
	buf_fini(&key);
}

/*
 * Return whether the object with the key `key` is in `namespace`; if
 * `namespace` is empty, every object is.
 */
static bool kube_key_is_in(const char *key, struct str namespace)
{
	return !namespace.len || (str_starts(str_of(key), namespace) &&
				  key[namespace.len] == '/');
}

void kube_store_sweep(struct kube_stores *s, enum kube_resource_id id,
		      struct str namespace, uint32_t list)
{
	struct kube_store *one = &s->of[id];

	for (size_t i = one->objects.count; i-- > 0;) {
		const struct kube_object *o = &one->objects.v[i];

		if (o->list != list && kube_key_is_in(o->key, namespace))
			kube_remove_at(s, one, (uint32_t)i);
	}
}

struct target_groups *kube_store_find(const struct kube_stores *s,
				      enum kube_resource_id id,
				      struct str namespace, struct str name)
{
	const struct kube_store *one = &s->of[id];
	struct buf key = { 0 };
	uint32_t n;

	if (!name.len)
		return NULL;
	kube_write_key(&key, namespace, name);
	n = kube_find_key(one, buf_cstr(&key));
	buf_fini(&key);
	return n == TABLE_NONE ? NULL : one->objects.v[n].own;
}
