/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The key of a WAL. It is made once and read by every later start. It is
 * replaced only when it certainly cannot be used any more. Salts follow from
 * it.
 */
#include "tsdb/wal/wal_key.h"

#include <fcntl.h>

#include "base/crc32c.h"
#include "base/enc.h"
#include "base/file_slurp.h"
#include "tests/check.h"
#include "tests/tempdir.h"
#include "tests/tsdb/hook.h"
#include "tsdb/io/record.h"

TestSuite(wal_key, .timeout = 60);

struct scene {
	struct tempdir dir;
	struct hook hook;
	char path[160];
};

static void scene_init(struct scene *s)
{
	*s = (struct scene){ .dir = tempdir_make(), .hook = hook_make() };
	snprintf(s->path, sizeof(s->path), "%s/key", s->dir.path);
}

static struct wal_key load(struct scene *s, bool read_only)
{
	struct wal_key k = { .known = true, .value = 4711 };

	wal_key_load(&k, &s->hook.fs, s->dir.path, read_only, NULL);
	return k;
}

static void overwrite(struct scene *s, struct bytes b)
{
	int fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert(fd >= 0);
	cr_assert(write(fd, b.ptr, b.len) == (ssize_t)b.len);
	close(fd);
}

Test(wal_key, it_is_made_once)
{
	struct scene s;
	struct wal_key first;
	struct wal_key again;

	scene_init(&s);
	first = load(&s, true);
	cr_assert(!first.known, "a look makes none");
	cr_expect(!first.value, "a look makes none");
	cr_expect(access(s.path, F_OK) < 0);
	first = load(&s, false);
	again = load(&s, false);
	cr_assert(first.known);
	cr_assert(again.known);
	cr_expect(first.value == again.value);
	again = load(&s, true);
	cr_assert(again.known);
	cr_expect(first.value == again.value);
	cr_expect(!unlink(s.path));
	again = load(&s, false);
	cr_assert(again.known, "by chance");
	cr_expect(first.value != again.value, "by chance");
	tempdir_fini(&s.dir);
}

/*
 * How the file is damaged, whether a read-only look still knows its key, and
 * whether the next start replaces the key.
 */
static const struct {
	const char *name;
	size_t len;   /* of the file; 0: as it was */
	uint64_t bit; /* flipped in the first copy; 0: none */
	bool both;    /* flipped in both copies */
	bool known_to_a_look;
	bool replaced;
} damages[] = {
	{ "none", 0, 0, false, true, false },
	{ "one copy is damaged", 0, 70, false, true, false },
	{ "both copies are damaged", 0, 70, true, false, true },
	{ "cut by a byte", FILE_HEADER - 1, 0, false, false, true },
	{ "cut to a byte", 1, 0, false, false, true },
};

Test(wal_key, a_damaged_key_is_replaced)
{
	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct scene s;
		struct buf file = { 0 };
		struct wal_key first;
		struct wal_key look;
		struct wal_key after;
		uint64_t byte = damages[i].bit / 8;

		scene_init(&s);
		first = load(&s, false);
		cr_assert(!file_slurp(s.path, &file, NULL));
		file.ptr[byte] ^= damages[i].bit ? 4 : 0;
		file.ptr[32 + byte] ^= damages[i].both ? 4 : 0;
		if (damages[i].len)
			file.len = damages[i].len;
		overwrite(&s, buf_bytes(&file));
		look = load(&s, true);
		cr_expect(look.known == damages[i].known_to_a_look, "%s",
			  damages[i].name);
		after = load(&s, false);
		cr_expect(after.known, "%s", damages[i].name);
		cr_expect((after.value != first.value) == damages[i].replaced,
			  "%s", damages[i].name);
		buf_fini(&file);
		tempdir_fini(&s.dir);
	}
}

Test(wal_key, a_key_that_cannot_be_read_now_is_kept)
{
	static const enum fs_op ops[] = { FS_OPEN, FS_READ };
	struct scene s;
	struct wal_key first;

	scene_init(&s);
	first = load(&s, false);
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct wal_key k;

		hook_arm(&s.hook, ops[i], "/key", EIO, 1);
		k = load(&s, false);
		cr_assert(!k.known, "op %d", ops[i]);
		cr_expect(s.hook.hits == 1, "op %d", ops[i]);
		k = load(&s, false);
		cr_assert(k.known, "op %d", ops[i]);
		cr_expect(k.value == first.value, "op %d", ops[i]);
	}
	tempdir_fini(&s.dir);
}

Test(wal_key, a_key_of_a_newer_version_is_kept)
{
	struct scene s;
	struct buf file = { 0 };
	struct buf now = { 0 };

	scene_init(&s);
	for (int copy = 0; copy < 2; copy++) {
		struct bytes covered;

		enc_be32(&file, MAGIC_KEY);
		enc_be32(&file, 2u << 24); /* the version */
		for (int i = 0; i < 5; i++)
			enc_be32(&file, 7);
		covered = (struct bytes){ file.ptr + 32 * copy, 28 };
		enc_be32(&file, crc32c_extend(0, covered));
	}
	overwrite(&s, buf_bytes(&file));
	cr_expect(!load(&s, false).known);
	cr_assert(!file_slurp(s.path, &now, NULL));
	cr_expect(bytes_eq(buf_bytes(&now), buf_bytes(&file)));
	buf_fini(&file);
	buf_fini(&now);
	tempdir_fini(&s.dir);
}

Test(wal_key, a_key_that_may_not_last_is_not_used)
{
	static const enum fs_op ops[] = { FS_WRITE, FS_SYNC, FS_RENAME,
					  FS_SYNC_DIR };

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++) {
		struct scene s;
		struct wal_key k;

		scene_init(&s);
		hook_arm(&s.hook, ops[i], "", ENOSPC, 1);
		k = load(&s, false);
		cr_assert(!k.known, "op %d", ops[i]);
		cr_expect(s.hook.hits == 1, "op %d", ops[i]);
		cr_expect(load(&s, false).known, "op %d: the next start",
			  ops[i]);
		tempdir_fini(&s.dir);
	}
}

static uint64_t salt_of(const struct wal_key *k, uint64_t segment)
{
	uint64_t salt = 0;

	cr_expect(!wal_key_salt(k, segment, &salt, NULL));
	return salt;
}

Test(wal_key, salts_follow_from_the_key)
{
	struct wal_key a = { .known = true, .value = 1 };
	struct wal_key b = { .known = true, .value = 2 };
	struct wal_key none = { 0 };

	cr_expect(salt_of(&a, 1) == salt_of(&a, 1));
	cr_expect(salt_of(&a, 1) != salt_of(&a, 2));
	cr_expect(salt_of(&a, 1) != salt_of(&b, 1));
	cr_expect(salt_of(&a, 2) != salt_of(&b, 1), "no sum of the two");
	cr_expect(salt_of(&none, 1) != salt_of(&none, 1), "by chance");
}
