/* SPDX-License-Identifier: Apache-2.0 */
#include "adhoc/adhoc_upload.h"

#include <stdio.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/mem.h"

struct adhoc_upload {
	struct adhoc_store *store;
	struct fs *fs;
	char id[ADHOC_ID_LEN + 1];
	char *dir;         /* NULL: not made yet */
	uint64_t reserved; /* room in the store */
	size_t text_bytes; /* of names and sample types */
	struct arena arena;
	struct adhoc_part parts[ADHOC_PARTS_MAX];
	size_t part_count;
	bool is_committed;
};

struct adhoc_upload *adhoc_upload_new(struct adhoc_store *s)
{
	struct adhoc_upload *u = mem_new(struct adhoc_upload);

	u->store = s;
	u->fs = adhoc_store_options(s)->fs;
	return u;
}

size_t adhoc_upload_count(const struct adhoc_upload *u)
{
	return u->part_count;
}

/* Choose the id. */
static int adhoc_upload_draw(struct adhoc_upload *u, struct err *err)
{
	uint8_t random[16];
	struct buf text = { 0 };

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_sys(err, "cannot get random bytes (getrandom)");
	base64_encode_url((struct bytes){ random, sizeof(random) }, &text);
	memcpy(u->id, text.ptr, ADHOC_ID_LEN);
	buf_fini(&text);
	return 0;
}

/*
 * Take room in the store for a file of so many bytes, the first time also for meta.json.
 * The files that have to make room go when the upload is complete, so that one that does
 * not fit, or is not good, removes none.
 */
static int adhoc_upload_reserve(struct adhoc_upload *u, uint64_t bytes,
				struct err *err)
{
	uint64_t room = adhoc_store_room(bytes) +
			(u->reserved ? 0 : adhoc_store_room(1));
	int rc = adhoc_store_reserve(u->store, room, u->reserved + room, err);

	if (!rc)
		u->reserved += room;
	return rc;
}

/* Make the folder, under a temporary name. */
static int adhoc_upload_begin(struct adhoc_upload *u, struct err *err)
{
	const char *all = adhoc_store_options(u->store)->dir;
	char name[sizeof(u->id) + 8];
	int rc;

	if (u->dir)
		return 0;
	rc = adhoc_upload_draw(u, err);
	if (!rc)
		rc = fs_ensure_dir(u->fs, all, err);
	if (rc)
		return rc;
	snprintf(name, sizeof(name), ADHOC_TEMPORARY "%s", u->id);
	u->dir = adhoc_store_path(u->store, name, "");
	return fs_mkdir(u->fs, u->dir, err);
}

/* Write a file of the folder, durably. */
static int adhoc_upload_write(struct adhoc_upload *u, const char *name,
			      struct bytes b, struct err *err)
{
	char *path = mem_printf("%s/%s", u->dir, name);
	struct file *f = NULL;
	int rc = file_open(u->fs, path, FILE_CREATE, &f, err);

	if (!rc)
		rc = file_write(f, 0, b, err);
	if (!rc)
		rc = file_sync(f, err);
	file_close(f);
	mem_free(path);
	return rc;
}

/* Count the texts of a profile. ERR_TOOBIG: meta.json would be too large. */
static int adhoc_upload_count_texts(struct adhoc_upload *u, struct str name,
				    const struct typeset *t, struct err *err)
{
	u->text_bytes += name.len;
	for (size_t i = 0; i < t->count; i++)
		u->text_bytes += t->types[i].type.len + t->types[i].unit.len;
	if (u->text_bytes <= ADHOC_TEXTS_MAX)
		return 0;
	return err_set(
		err, ERR_TOOBIG,
		"the names of the sample types of the file have more than %d bytes",
		ADHOC_TEXTS_MAX);
}

/* Remember what is known of a profile. */
static void adhoc_upload_note(struct adhoc_upload *u, struct str name,
			      const struct typeset *t, size_t size)
{
	struct value_type *types =
		arena_array(&u->arena, struct value_type, t->count);

	for (size_t i = 0; i < t->count; i++)
		types[i] = (struct value_type){
			arena_str(&u->arena, t->types[i].type),
			arena_str(&u->arena, t->types[i].unit)
		};
	u->parts[u->part_count++] =
		(struct adhoc_part){ .name = arena_str(&u->arena, name),
				     .types = types,
				     .type_count = t->count,
				     .default_type = typeset_default(t),
				     .size = size };
}

int adhoc_upload_add(struct adhoc_upload *u, struct str name,
		     const struct typeset *types, size_t size,
		     struct bytes packed, struct err *err)
{
	char file[ADHOC_PART_NAME];
	int rc;

	if (u->part_count == ADHOC_PARTS_MAX)
		return err_set(err, ERR_TOOBIG,
			       "the file has more than %d profiles",
			       ADHOC_PARTS_MAX);
	rc = adhoc_upload_count_texts(u, name, types, err);
	if (!rc)
		rc = adhoc_upload_reserve(u, packed.len, err);
	if (!rc)
		rc = adhoc_upload_begin(u, err);
	if (rc)
		return rc;
	adhoc_store_part_name(u->part_count, file);
	rc = adhoc_upload_write(u, file, packed, err);
	if (!rc)
		adhoc_upload_note(u, name, types, size);
	return rc;
}

/* Write meta.json. */
static int adhoc_upload_write_meta(struct adhoc_upload *u,
				   const struct adhoc_meta *m, struct err *err)
{
	struct buf text = { 0 };
	struct json j = json_init(&text);
	int rc = 0;

	adhoc_meta_write(m, &j);
	/* There is room for a short one. */
	if (text.len > adhoc_store_room(1))
		rc = adhoc_upload_reserve(u, text.len - adhoc_store_room(1),
					  err);
	if (!rc)
		rc = adhoc_upload_write(u, "meta.json", buf_bytes(&text), err);
	buf_fini(&text);
	return rc;
}

int adhoc_upload_commit(struct adhoc_upload *u, struct adhoc_meta *m,
			struct err *err)
{
	const struct adhoc_options *o = adhoc_store_options(u->store);
	char *path = adhoc_store_path(u->store, u->id, "");
	int rc;

	memcpy(m->id, u->id, sizeof(m->id));
	m->uploaded_ms = clock_ms(o->clock);
	m->expires_ms = m->uploaded_ms + o->ttl_ms;
	m->parts = u->parts;
	m->part_count = u->part_count;
	rc = adhoc_upload_write_meta(u, m, err);
	if (!rc)
		rc = fs_sync_dir(u->fs, u->dir, err);
	if (!rc)
		rc = adhoc_store_make_room(u->store, err);
	if (!rc)
		rc = fs_rename(u->fs, u->dir, path, err);
	if (!rc) {
		/* From here on, it is there, even if it may not be durable. */
		u->is_committed = true;
		adhoc_store_add(u->store, m, u->reserved);
		rc = fs_sync_parent(u->fs, path, err);
	}
	mem_free(path);
	return rc;
}

void adhoc_upload_free(struct adhoc_upload *u)
{
	if (!u)
		return;
	if (!u->is_committed) {
		/* What remains is removed by the next start. */
		if (u->dir)
			(void)!fs_remove_dir(u->fs, u->dir, NULL);
		adhoc_store_release(u->store, u->reserved);
	}
	mem_free(u->dir);
	arena_fini(&u->arena);
	mem_free(u);
}
