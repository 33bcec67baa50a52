/* SPDX-License-Identifier: Apache-2.0 */
#include "tsdb/block/known_labels.h"

#include "base/dec.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/units.h"
#include "tsdb/io/record.h"
#include "tsdb/io/record_file.h"
#include "tsdb/io/trash.h"

#define FILE_NAME "sample-labels"
#define FILE_MAX  (4 * MIB) /* bytes */

void known_labels_init(struct known_labels *l, struct fs *fs, const char *dir)
{
	*l = (struct known_labels){ .fs = fs, .dir = mem_strdup(dir) };
	mutex_init(&l->save_mu);
	mutex_init(&l->mu);
}

void known_labels_fini(struct known_labels *l)
{
	vec_fini(&l->names);
	table_fini(&l->by_name);
	arena_fini(&l->arena);
	mutex_destroy(&l->mu);
	mutex_destroy(&l->save_mu);
	mem_free(l->dir);
}

static bool known_labels_same(const void *ctx, uint32_t number, const void *key)
{
	const struct known_labels *l = ctx;
	const struct str *name = key;

	return str_eq(l->names.v[number].name, *name);
}

/* Find a name; the lock is held. NULL: it is not in the set. */
static const struct known_label *known_labels_find(const struct known_labels *l,
						   struct str name)
{
	uint32_t number = table_find(&l->by_name, hash_key(bytes_of(name)),
				     known_labels_same, l, &name);

	return number == TABLE_NONE ? NULL : &l->names.v[number];
}

/*
 * Add a name; the lock is held. Names that are known are kept when any other is
 * possible, too, for lists.
 */
static void known_labels_add(struct known_labels *l, struct str name,
			     bool saved)
{
	if (!name.len || name.len > KNOWN_LABEL_BYTES_MAX ||
	    !str_is_utf8(name) || known_labels_find(l, name))
		return;
	if (l->names.count == KNOWN_LABELS_MAX) {
		l->any = true;
		return;
	}
	table_add(&l->by_name, hash_key(bytes_of(name)),
		  (uint32_t)l->names.count);
	*vec_add(&l->names) =
		(struct known_label){ .name = arena_str(&l->arena, name),
				      .saved = saved };
}

/* Append what the file says; the lock is held. */
static void known_labels_encode_body(const struct known_labels *l,
				     struct buf *body)
{
	enc_uvarint(body, l->any);
	enc_uvarint(body, l->names.count);
	for (size_t i = 0; i < l->names.count; i++)
		enc_str(body, l->names.v[i].name);
}

void known_labels_encode(struct known_labels *l, uint64_t salt, struct buf *out)
{
	struct buf body = { 0 };

	mutex_lock(&l->mu);
	known_labels_encode_body(l, &body);
	mutex_unlock(&l->mu);
	record_file_encode(MAGIC_SAMPLE_LABELS, salt, buf_bytes(&body), out);
	buf_fini(&body);
}

/* Keep a file that the disk could not read, before another one replaces it. */
static int known_labels_keep_unread(const struct known_labels *l,
				    struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", l->dir, FILE_NAME);
	int rc = trash_rename_aside(l->fs, path, ASIDE_UNREAD, err);

	return rc == ERR_NOTFOUND ? 0 : rc;
}

/*
 * Write the file; save_mu is held, but not mu. What others add meanwhile is not saved.
 */
static int known_labels_save(struct known_labels *l, struct err *err)
{
	struct buf body = { 0 };
	bool is_unread;
	size_t count;
	bool any;
	int rc = 0;

	mutex_lock(&l->mu);
	known_labels_encode_body(l, &body);
	count = l->names.count;
	any = l->any;
	is_unread = l->is_unread;
	mutex_unlock(&l->mu);
	if (is_unread)
		rc = known_labels_keep_unread(l, err);
	if (!rc)
		rc = record_file_write(l->fs, l->dir, FILE_NAME,
				       MAGIC_SAMPLE_LABELS, buf_bytes(&body),
				       err);
	buf_fini(&body);
	if (rc)
		return rc;
	mutex_lock(&l->mu);
	for (size_t i = 0; i < count; i++)
		l->names.v[i].saved = true;
	l->any_saved |= any;
	l->is_unread = false;
	mutex_unlock(&l->mu);
	return 0;
}

/* Take the names of the file's body; the lock is held. */
static int known_labels_decode(struct known_labels *l, struct bytes body,
			       struct err *err)
{
	struct dec d = dec_init(body);
	uint64_t any = dec_uvarint(&d);
	uint64_t count = dec_count(&d, KNOWN_LABELS_MAX);

	l->any = any;
	for (uint64_t i = 0; i < count && !d.bad; i++) {
		struct str name = dec_str(&d);

		if (!d.bad)
			known_labels_add(l, name, true);
	}
	l->any_saved = any;
	if (!d.bad && !dec_left(&d) && any <= 1)
		return 0;
	return err_set(err, ERR_CORRUPT, "%s/%s is malformed", l->dir,
		       FILE_NAME);
}

/* Take the file, or note why there is none. */
static int known_labels_read(struct known_labels *l, bool has_data,
			     struct err *err)
{
	CLEANUP(mem_freep) char *path = mem_printf("%s/%s", l->dir, FILE_NAME);
	struct buf bytes = buf_init(FILE_MAX);
	struct bytes body = { 0 };
	int rc = record_file_read(l->fs, path, MAGIC_SAMPLE_LABELS, &bytes,
				  &body, err);

	mutex_lock(&l->mu);
	if (!rc)
		rc = known_labels_decode(l, body, err);
	l->any |= rc == ERR_NOTFOUND ? has_data : rc != 0;
	l->is_unread = rc == ERR_IO;
	mutex_unlock(&l->mu);
	buf_fini(&bytes);
	return rc;
}

int known_labels_load(struct known_labels *l, bool has_data, bool read_only,
		      struct err *err)
{
	struct err unwanted;
	int rc = known_labels_read(l, has_data, err);

	if (rc == ERR_NOTFOUND && read_only)
		return 0;
	if (!rc || rc == ERR_IO || read_only)
		return rc;
	mutex_lock(&l->save_mu);
	if (rc == ERR_NOTFOUND)
		rc = known_labels_save(l, err);
	else
		/* The damage is told. What cannot be written now is later. */
		(void)!known_labels_save(l, &unwanted);
	mutex_unlock(&l->save_mu);
	return rc;
}

/*
 * Add the names of a sample; the lock is held. Returns whether all of them are in the
 * file.
 */
static bool known_labels_add_sample(struct known_labels *l,
				    const struct sample *s)
{
	bool saved = true;

	l->any |= s->more_label_names;
	for (size_t i = 0; i < s->label_name_count; i++) {
		const struct known_label *label;

		known_labels_add(l, s->label_names[i], false);
		label = known_labels_find(l, s->label_names[i]);
		saved &= !label || label->saved;
	}
	return saved && l->any == l->any_saved;
}

/* Note the names of a sample. Returns whether the file has all of them. */
static bool known_labels_note_names(struct known_labels *l,
				    const struct sample *s)
{
	bool saved;

	mutex_lock(&l->mu);
	saved = known_labels_add_sample(l, s);
	mutex_unlock(&l->mu);
	return saved;
}

int known_labels_note(struct known_labels *l, const struct sample *s,
		      struct err *err)
{
	int rc = 0;

	if (!s->label_name_count && !s->more_label_names)
		return 0;
	if (known_labels_note_names(l, s))
		return 0;
	mutex_lock(&l->save_mu);
	/* Another thread may have written the same names meanwhile. */
	if (!known_labels_note_names(l, s))
		rc = known_labels_save(l, err);
	mutex_unlock(&l->save_mu);
	return rc;
}

void known_labels_note_block(struct known_labels *l, const struct meta *m)
{
	mutex_lock(&l->mu);
	l->any_of_block |= !m->has_sample_labels;
	for (size_t i = 0; i < m->sample_label_count; i++)
		known_labels_add(l, str_from(m->sample_labels[i]), false);
	mutex_unlock(&l->mu);
}

void known_labels_copy(struct known_labels *l, struct meta *m)
{
	mutex_lock(&l->mu);
	m->has_sample_labels = !l->any && !l->any_of_block;
	for (size_t i = 0; i < l->names.count && m->has_sample_labels; i++)
		meta_add_sample_label(m, l->names.v[i].name);
	mutex_unlock(&l->mu);
}

bool known_labels_may_have(struct known_labels *l, struct str name)
{
	bool may;

	mutex_lock(&l->mu);
	may = l->any || l->any_of_block || known_labels_find(l, name);
	mutex_unlock(&l->mu);
	return may;
}

bool known_labels_each(struct known_labels *l,
		       void (*fn)(void *ctx, struct str name), void *ctx)
{
	bool all;

	mutex_lock(&l->mu);
	for (size_t i = 0; i < l->names.count; i++)
		fn(ctx, l->names.v[i].name);
	all = !l->any && !l->any_of_block;
	mutex_unlock(&l->mu);
	return all;
}
