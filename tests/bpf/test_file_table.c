/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file table: each file is read once, files with one build ID share their
 * table, and files that nobody has are forgotten.
 */
#include "bpf/process/file_table.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/check.h"

TestSuite(file_table, .timeout = 60);

enum {
	/* Numbers of processes from here on are not in use. */
	ENDED = 0x3fffff00,
};

static struct unwind_row in_kernel[100];

/*
 * The facts of a file with 10 entries, of which 4 are pages, whose only segment
 * begins at 0x1000.
 */
static struct elf_facts facts_of(const char *build_id)
{
	static const struct elf_segment segment = {
		.vaddr = 0x401000,
		.memory = 0x2000,
		.offset = 0x1000,
		.bytes = 0x2000,
		.executable = true,
	};
	static struct unwind_row entries[10];

	for (uint32_t i = 0; i < 10; i++)
		entries[i].pc = 0x401000 + i;
	return (struct elf_facts){
		.build_id = bytes_of(str_of(build_id)),
		.segments = &segment,
		.segment_count = 1,
		.table = { entries, 10, 4 },
	};
}

/* A file that a process of a user has mapped. */
static uint32_t get_as(struct file_table *t, const char *path,
		       const char *identity, uint32_t uid, uint32_t pid)
{
	struct process_uid asker = { .uid = uid, .is_known = true };

	return file_table_get(
		t, str_of(path),
		&(struct file_identity){ .bytes = bytes_of(str_of(identity)) },
		&asker, ENDED + pid);
}

/* … of root. */
static uint32_t get(struct file_table *t, const char *path,
		    const char *identity, uint32_t pid)
{
	return get_as(t, path, identity, 0, pid);
}

/* Read the next file, which must be this one. */
static void read_next(struct file_table *t, uint32_t number,
		      const char *build_id)
{
	struct elf_read read = { .facts = facts_of(build_id), .fd = -1 };

	cr_assert(file_table_next(t, 0) == number);
	file_table_learn(t, number, &read, 0);
}

Test(file_table, a_file_is_its_path_and_its_identity)
{
	struct table_store store;
	struct file_table t;
	uint32_t a;
	uint32_t b;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = get(&t, "/usr/bin/a", "1", 7);
	b = get(&t, "/usr/bin/a", "2", 8);
	cr_assert(a != b);
	cr_expect(get(&t, "/usr/bin/a", "1", 9) == a);
	cr_expect(file_table_at(&t, a)->pid == ENDED + 9);
	/* The newest file is read first. */
	read_next(&t, b, "y");
	read_next(&t, a, "x");
	cr_expect(file_table_next(&t, 0) == FILE_NONE);
	cr_expect(store.extents.used == 20);
	file_table_fini(&t);
	table_store_fini(&store);
}

/*
 * A user may mount a file of his with a copy of the build ID over a program of
 * root, for his own processes, or have one that must not be read.
 */
Test(file_table, a_file_of_one_user_is_not_that_of_another_one)
{
	struct table_store store;
	struct file_table t;
	struct sampler_mapping m = { .start = 0x7f0000001000 };
	uint32_t his;
	uint32_t roots;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	his = get_as(&t, "/usr/bin/nightly", "id", 1000, 7);
	cr_assert(file_table_next(&t, 0) == his);
	file_table_learn(&t, his, NULL, 0);
	roots = get(&t, "/usr/bin/nightly", "id", 8);
	cr_assert(roots != his);
	cr_assert(file_table_at(&t, roots)->pid == ENDED + 8);
	cr_expect(file_table_at(&t, roots)->uid == 0);
	cr_expect(file_table_at(&t, his)->uid == 1000);
	read_next(&t, roots, "id");
	file_table_resolve(&t, roots, 0x1000, &m);
	cr_expect(m.pages == 4);
	file_table_resolve(&t, his, 0x1000, &m);
	cr_expect(!m.pages);
	cr_expect(get_as(&t, "/usr/bin/nightly", "id", 1000, 9) == his);
	/* A process of root, which has a mapping of his, is of no help. */
	file_table_sampled(&t, his, 1, 1000000);
	cr_expect(file_table_at(&t, his)->pid == ENDED + 7);
	file_table_fini(&t);
	table_store_fini(&store);
}

/* It was root's when it began, and became a user's without a new program. */
Test(file_table, a_process_that_changed_its_user_opens_files_of_the_new_one)
{
	const struct file_identity id = { .bytes = bytes_of(str_of("1")) };
	const uint32_t self = (uint32_t)getpid();
	struct process_uid before = { .uid = 54321, .is_known = true };
	struct process_uid asker = before;
	struct table_store store;
	struct file_table t;
	uint32_t old;
	uint32_t n;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	old = file_table_get(&t, str_of("/old"), &id, &before, ENDED);
	cr_expect(file_table_next(&t, 0) == old);
	cr_expect(file_table_get(&t, str_of("/old"), &id, &asker, self) == old);
	n = file_table_get(&t, str_of("/new"), &id, &asker, self);
	cr_expect(asker.uid == geteuid());
	cr_expect(file_table_at(&t, n)->uid == geteuid());
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, a_build_id_is_no_inode)
{
	const struct bytes bytes = bytes_of(str_of("sixteen bytes id"));
	const struct file_identity inode = { .bytes = bytes };
	const struct file_identity build_id = { .is_build_id = true,
						.bytes = bytes };
	struct table_store store;
	struct file_table t;
	struct process_uid root = { .is_known = true };
	uint32_t a;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = file_table_get(&t, str_of("/a"), &inode, &root, ENDED);
	cr_expect(file_table_get(&t, str_of("/a"), &build_id, &root, ENDED) !=
		  a);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, files_with_one_build_id_share_their_table)
{
	struct table_store store;
	struct file_table t;
	struct sampler_mapping m = { .start = 0x7f0000001000 };
	struct sampler_mapping n = { .start = 0x55000000f000 };
	uint32_t a;
	uint32_t b;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = get(&t, "/container/1/lib.so", "1", 7);
	b = get(&t, "/container/2/lib.so", "2", 8);
	file_table_resolve(&t, a, 0x1000, &m);
	cr_expect(!m.pages);
	read_next(&t, b, "x");
	read_next(&t, a, "x");
	cr_expect(store.extents.used == 10);
	file_table_resolve(&t, a, 0x1000, &m);
	file_table_resolve(&t, b, 0x2000, &n);
	cr_assert(m.pages == 4);
	cr_assert(n.pages == 4);
	cr_expect(m.table == n.table);
	cr_expect(m.bias == 0x7f0000001000 - 0x401000);
	cr_expect(n.bias == 0x55000000f000 - 0x402000);
	/* No segment is there. */
	file_table_resolve(&t, a, 0x9000, &m);
	cr_assert(!m.pages);
	cr_expect(!m.bias);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, files_without_a_build_id_do_not_share)
{
	struct table_store store;
	struct file_table t;
	uint32_t a;
	uint32_t b;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = get(&t, "/a", "1", 7);
	b = get(&t, "/b", "1", 8);
	read_next(&t, b, "");
	read_next(&t, a, "");
	cr_expect(store.extents.used == 20);
	file_table_fini(&t);
	table_store_fini(&store);
}

/*
 * The process that had the file may have ended before it was opened. Others
 * have it, too.
 */
Test(file_table, files_that_could_not_be_read_are_read_again_when_sampled)
{
	const uint32_t self = (uint32_t)getpid();
	struct table_store store;
	struct file_table t;
	struct elf_read read = { .facts = facts_of("x"), .fd = -1 };
	uint64_t now = 1000;
	uint64_t wait = FILE_FAILED_MS;
	uint32_t a;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = get_as(&t, "/a", "1", geteuid(), 7);
	cr_assert(file_table_next(&t, 0) == a);
	for (int i = 0; i < 12; i++) {
		file_table_learn(&t, a, NULL, now);
		cr_expect(file_table_at(&t, a)->state == MAPPED_FAILED);
		cr_expect(file_table_next(&t, 0) == FILE_NONE);
		/* An answer that comes late. */
		file_table_learn(&t, a, &read, now);
		cr_expect(file_table_at(&t, a)->state == MAPPED_FAILED);
		file_table_sampled(&t, a, self, now + wait - 1);
		cr_expect(file_table_next(&t, 0) == FILE_NONE, "not yet");
		now += wait;
		file_table_sampled(&t, a, self, now);
		cr_assert(file_table_next(&t, 0) == a, "%d", i);
		cr_expect(file_table_at(&t, a)->pid == self);
		wait = wait < 128000 ? wait * 2 : wait;
	}
	file_table_learn(&t, a, &read, now);
	cr_expect(file_table_at(&t, a)->state == MAPPED_READ);
	cr_expect(file_table_at(&t, a)->failures == 0);
	file_table_sampled(&t, a, self, now + 1000000);
	cr_expect(file_table_next(&t, 0) == FILE_NONE);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, a_file_whose_table_found_no_room_is_read_again_when_sampled)
{
	const uint32_t self = (uint32_t)getpid();
	struct table_store store;
	struct file_table t;
	struct sampler_mapping m = { .start = 0x7f0000001000 };
	uint32_t a;
	uint32_t b;

	table_store_init(&store, in_kernel, 10);
	file_table_init(&t, &store, NULL);
	a = get_as(&t, "/a", "1", geteuid(), 7);
	read_next(&t, a, "x");
	b = get_as(&t, "/b", "2", geteuid(), 8);
	read_next(&t, b, "y");
	file_table_resolve(&t, b, 0x1000, &m);
	cr_assert(!m.pages, "its mapping is known all the same");
	cr_expect(m.bias, "its mapping is known all the same");
	file_table_sampled(&t, b, self, FILE_RETRY_MS - 1);
	cr_expect(file_table_next(&t, 0) == FILE_NONE, "a moment ago");
	file_table_sampled(&t, a, 7, 20000);
	cr_expect(file_table_next(&t, 0) == FILE_NONE, "it has its table");
	file_table_sampled(&t, b, self, 20000);
	file_table_sampled(&t, b, self, 20000);
	cr_expect(file_table_at(&t, b)->pid == self);
	/* The program of the other file has ended. */
	file_table_count_begin(&t);
	file_table_count(&t, b);
	file_table_count_end(&t, 0);
	cr_assert(file_table_next(&t, 0) == b);
	file_table_resolve(&t, b, 0x1000, &m);
	cr_expect(m.bias, "while it is being read");
	file_table_learn(&t, b,
			 &(struct elf_read){ .facts = facts_of("y"), .fd = -1 },
			 20000);
	file_table_resolve(&t, b, 0x1000, &m);
	cr_assert(m.pages == 4);
	cr_expect(file_table_next(&t, 0) == FILE_NONE);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, a_file_that_was_read_stays_open)
{
	struct table_store store;
	struct file_table t;
	struct elf_read read = { .facts = facts_of("x"),
				 .fd = open("/dev/null", O_RDONLY) };
	int fd = read.fd;
	uint32_t a;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = get(&t, "/a", "1", 7);
	cr_assert(file_table_next(&t, 0) == a);
	file_table_learn(&t, a, &read, 0);
	cr_assert(read.fd == -1);
	cr_expect(file_table_at(&t, a)->fd == fd);
	cr_expect(t.open_count == 1);
	file_table_count_begin(&t);
	file_table_count_end(&t, 0);
	cr_assert(fcntl(fd, F_GETFD) < 0);
	cr_expect(!t.open_count);
	file_table_fini(&t);
	table_store_fini(&store);
}

/* Read the file that is next; returns whether it stays open. */
static bool read_open_file(struct file_table *t)
{
	struct elf_read read = { .facts = facts_of("x"),
				 .fd = open("/dev/null", O_RDONLY) };

	cr_assert(read.fd >= 0);
	file_table_learn(t, file_table_next(t, 0), &read, 0);
	if (read.fd < 0)
		return true;
	close(read.fd);
	return false;
}

Test(file_table, files_of_one_user_stay_open_up_to_a_share)
{
	struct table_store store;
	struct file_table t;
	struct rlimit files;
	size_t share;
	char name[32];

	cr_assert(!getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = files.rlim_max;
	cr_assert(!setrlimit(RLIMIT_NOFILE, &files));
	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	share = t.open_max / FILES_OPEN_USER_PART;
	for (size_t i = 0; i < share + 3; i++) {
		snprintf(name, sizeof(name), "/%zu", i);
		/* Nobody knows whose process that was. */
		cr_assert(get_as(&t, name, "1", PROCESS_UID_GONE, 7) !=
			  FILE_NONE);
		cr_assert(read_open_file(&t) == (i < share));
	}
	cr_assert(get(&t, "/root", "1", 1) != FILE_NONE);
	cr_expect(read_open_file(&t), "others have room");
	/* The room is there again when the files are forgotten. */
	file_table_count_begin(&t);
	file_table_count_end(&t, 0);
	cr_expect(!t.open_count);
	cr_assert(get_as(&t, "/again", "1", PROCESS_UID_GONE, 7) != FILE_NONE);
	cr_expect(read_open_file(&t));
	file_table_fini(&t);
	table_store_fini(&store);
}

/* Others need descriptors, too: the programs in the kernel, and the windows. */
Test(file_table, files_stay_open_as_far_as_the_limit_of_the_process_allows)
{
	struct table_store store;
	struct file_table t;
	struct rlimit files;
	char name[32];

	cr_assert(!getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = 256;
	cr_assert(!setrlimit(RLIMIT_NOFILE, &files));
	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (size_t i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "/%zu", i);
		cr_assert(get(&t, name, "1", 1) != FILE_NONE);
		cr_expect(read_open_file(&t) == (i < 256 / FILES_OPEN_PART),
			  "%zu", i);
	}
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, files_that_nobody_has_are_forgotten)
{
	struct table_store store;
	struct file_table t;
	uint32_t kept;
	uint32_t gone;
	uint32_t pending;
	/* The build ID, and the owner: root. */
	struct table_key key = { .bytes = "gone", .len = 8 };

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	kept = get(&t, "/kept", "1", 7);
	gone = get(&t, "/gone", "1", 7);
	read_next(&t, gone, "gone");
	read_next(&t, kept, "kept");
	pending = get(&t, "/pending", "1", 7);
	cr_expect(file_table_next(&t, 0) == pending);
	file_table_count_begin(&t);
	file_table_count(&t, kept);
	file_table_count(&t, FILE_NONE);
	file_table_count_end(&t, 1000);
	cr_expect(!file_table_at(&t, gone)->live);
	cr_expect(file_table_at(&t, pending)->live);
	/* The table stays, for the next process. */
	cr_expect(table_store_find(&store, &key) != TABLE_STORE_NONE);
	cr_expect(get(&t, "/other", "1", 7) == gone, "the number is free");
	cr_expect(get(&t, "/kept", "1", 7) == kept);
	file_table_fini(&t);
	table_store_fini(&store);
}

/* Read or open the next file, which must be this one. It stays open. */
static bool learn_next(struct file_table *t, uint32_t number, bool unchanged,
		       uint64_t now)
{
	struct elf_read read = { .fd = open("/dev/null", O_RDONLY),
				 .state.device = 1,
				 .unchanged = unchanged };

	cr_assert(file_table_next(t, now) == number);
	cr_expect(file_table_at(t, number)->is_known == unchanged);
	if (!unchanged)
		read.facts = facts_of("x");
	return file_table_learn(t, number, &read, now);
}

/* No process has any file any more. */
static void sweep_all(struct file_table *t, uint64_t now)
{
	file_table_count_begin(t);
	file_table_count_end(t, now);
}

/* Add a table that takes all room of a store. */
static void fill_store(struct table_store *s, uint64_t now)
{
	const struct table_key key = { .bytes = "large", .len = 5 };
	static struct unwind_row entries[100];

	table_store_drop(
		s,
		table_store_add(s, &key, 0,
				&(struct unwind_pack){ entries, 100, 4 }, now),
		now);
}

Test(file_table, a_program_that_runs_again_is_opened_and_not_read)
{
	struct table_store store;
	struct file_table t;
	struct sampler_mapping m = { .start = 0x7f0000001000 };
	uint32_t a;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	a = get(&t, "/a", "1", 7);
	cr_expect(learn_next(&t, a, false, 0));
	sweep_all(&t, 1000);
	cr_assert(file_table_at(&t, a)->live, "it is closed");
	cr_expect(!t.open_count, "it is closed");
	cr_expect(!table_store_at(&store, 0)->users, "and its table may go");
	cr_assert(get(&t, "/a", "1", 8) == a);
	cr_expect(!t.unused_count);
	file_table_resolve(&t, a, 0x1000, &m);
	cr_expect(m.pages == 4, "the table is there at once");
	cr_expect(!learn_next(&t, a, true, 2000), "nothing is published");
	cr_assert(t.open_count == 1);
	cr_expect(file_table_next(&t, 2000) == FILE_NONE);
	/* It ended before it was opened. */
	sweep_all(&t, 3000);
	cr_expect(get(&t, "/a", "1", 9) == a);
	sweep_all(&t, 4000);
	cr_expect(file_table_next(&t, 4000) == FILE_NONE);
	/* Another table took the place of its own. */
	fill_store(&store, 20000);
	cr_expect(get(&t, "/a", "1", 9) == a);
	cr_expect(learn_next(&t, a, false, 40000), "it is read again");
	/* It is forgotten after a while. */
	sweep_all(&t, 41000);
	sweep_all(&t, 40999 + FILE_UNUSED_MS);
	cr_expect(file_table_at(&t, a)->live);
	sweep_all(&t, 41000 + FILE_UNUSED_MS);
	cr_assert(!file_table_at(&t, a)->live);
	cr_expect(!t.unused_count);
	file_table_fini(&t);
	table_store_fini(&store);
}

/* Let a user have files that end; how many of them stay known. */
static size_t rest_some(struct file_table *t, uint32_t uid, size_t count)
{
	size_t before = t->unused_count;
	char name[32];

	for (size_t i = 0; i < count; i++) {
		uint32_t n;

		snprintf(name, sizeof(name), "/%zu", i);
		n = get_as(t, name, "1", uid, 7);
		cr_assert(n != FILE_NONE);
		(void)learn_next(t, n, false, 0);
	}
	sweep_all(t, 1000);
	return t->unused_count - before;
}

Test(file_table, files_that_nobody_has_are_known_up_to_a_share)
{
	const size_t part = FILES_UNUSED_MAX / FILES_UNUSED_USER_PART;
	struct table_store store;
	struct file_table t;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (uint32_t uid = 1; uid < FILES_UNUSED_USER_PART; uid++)
		cr_expect(rest_some(&t, ENDED + uid, part + 3) == part);
	cr_expect(rest_some(&t, ENDED, 3) == 0, "users leave room");
	cr_expect(rest_some(&t, 0, FILES_UNUSED_MAX) == part, "to root");
	cr_expect(t.by_name.count == FILES_UNUSED_MAX);
	file_table_fini(&t);
	table_store_fini(&store);
}

/* Another user could write a build ID into a file with other contents. */
Test(file_table, files_of_two_owners_share_no_table)
{
	struct table_store store;
	struct file_table t;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (uint32_t i = 0; i < 4; i++) {
		struct elf_read read = { .facts = facts_of("same"),
					 .fd = -1,
					 .owner = i / 2 ? 1000 : 0 };
		char path[16];
		uint32_t n;

		snprintf(path, sizeof(path), "/%u", i);
		n = get(&t, path, "1", 7);
		cr_assert(file_table_next(&t, 0) == n);
		file_table_learn(&t, n, &read, 0);
	}
	cr_expect(file_table_at(&t, 0)->table == file_table_at(&t, 1)->table);
	cr_expect(file_table_at(&t, 2)->table == file_table_at(&t, 3)->table);
	cr_expect(file_table_at(&t, 0)->table != file_table_at(&t, 2)->table);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, files_of_one_user_delay_nobody_else)
{
	struct table_store store;
	struct file_table t;
	uint32_t late;
	uint32_t first;
	uint64_t now = 1;
	char path[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	/* A link of a slow file is a new file each time. */
	for (int i = 0; i < 2 * FILE_USER_MAX; i++) {
		snprintf(path, sizeof(path), "/link-%d", i);
		late = get_as(&t, path, "1", 54321, 7);
		cr_expect((late == FILE_NONE) == (i >= FILE_USER_MAX), "%d", i);
	}
	cr_expect(t.refused == FILE_USER_MAX);
	first = get_as(&t, "/other", "1", 54322, 8);
	cr_expect(first != FILE_NONE, "its user has room");
	late = get(&t, "/root", "1", 1);
	cr_expect(file_table_next(&t, now) == late, "root had no time yet");
	file_table_learn(&t, late, NULL, now += 50);
	/* Nobody knows yet that these are slow. */
	late = file_table_next(&t, now);
	cr_expect(t.files.v[late].path[1] == 'l');
	file_table_learn(&t, late, NULL, now += 3000);
	cr_expect(file_table_next(&t, now) == first);
	file_table_learn(&t, first, NULL, now += 50);
	for (int i = 0; i < 3; i++) {
		uint32_t n = file_table_next(&t, now);

		cr_expect(t.files.v[n].path[1] == 'l');
		file_table_learn(&t, n, NULL, now += 3000);
		/* However new the slow files are. */
		first = get_as(&t, i ? "/b" : "/a", "1", 54322, 8);
		snprintf(path, sizeof(path), "/new-%d", i);
		(void)get_as(&t, path, "1", 54321, 7);
		if (i < 2) {
			cr_expect(file_table_next(&t, now) == first, "%d", i);
			file_table_learn(&t, first, NULL, now += 50);
		}
	}
	file_table_fini(&t);
	table_store_fini(&store);
}

/* However many files of somebody else came later. */
Test(file_table, files_that_wait_behind_many_others_are_found)
{
	struct table_store store;
	struct file_table t;
	uint32_t first;
	char path[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	first = get_as(&t, "/slow", "1", 54321, 7);
	cr_assert(file_table_next(&t, 1) == first);
	first = get_as(&t, "/other", "1", 54322, 8);
	file_table_learn(&t, 0, NULL, 3000);
	for (int i = 0; i < FILE_USER_MAX - 1; i++) {
		snprintf(path, sizeof(path), "/flood-%d", i);
		cr_assert(get_as(&t, path, "1", 54321, 7) != FILE_NONE);
	}
	cr_expect(file_table_next(&t, 3000) == first);
	file_table_fini(&t);
	table_store_fini(&store);
}

/* A user with many numbers would otherwise always be the first one. */
Test(file_table, a_new_user_has_no_advantage_over_those_that_wait)
{
	struct table_store store;
	struct file_table t;
	uint32_t late;
	uint32_t waits;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	late = get_as(&t, "/a", "1", 54321, 7);
	cr_assert(file_table_next(&t, 1) == late);
	waits = get_as(&t, "/b", "1", 54321, 7);
	file_table_learn(&t, late, NULL, 3000);
	late = get_as(&t, "/c", "1", 54322, 8);
	cr_expect(file_table_next(&t, 3000) == waits);
	file_table_learn(&t, waits, NULL, 3001);
	cr_expect(file_table_next(&t, 3001) == late);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, forgotten_files_leave_nothing_to_be_read)
{
	struct table_store store;
	struct file_table t;
	uint32_t kept;
	char path[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	kept = get_as(&t, "/kept", "1", 54321, 7);
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		cr_assert(get_as(&t, path, "1", 54321, 7) != FILE_NONE);
		file_table_count_begin(&t);
		file_table_count(&t, kept);
		file_table_count_end(&t, 0);
		/* Root's is the first entry. */
		cr_assert(t.users[1].uid == 54321);
		cr_expect(t.users[1].unread.list.count == 1);
	}
	cr_expect(file_table_next(&t, 0) == kept);
	cr_expect(file_table_next(&t, 0) == FILE_NONE);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, root_has_an_entry_however_many_users_there_are)
{
	struct table_store store;
	struct file_table t;
	char path[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (uint32_t i = 1; i < 2 * FILE_USERS; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		cr_assert(get_as(&t, path, "1", i, 7) != FILE_NONE);
	}
	cr_assert(t.user_count == FILE_USERS);
	for (uint32_t i = 0; i < 2 * FILE_USER_MAX; i++) {
		snprintf(path, sizeof(path), "/root-%u", i);
		cr_assert(get(&t, path, "1", 1) != FILE_NONE);
	}
	file_table_fini(&t);
	table_store_fini(&store);
}

/* Numbers that a user has for user namespaces are no way to more room. */
Test(file_table, numbers_of_a_range_share_the_room)
{
	struct user_range range = { .first = 100000, .count = 65536 };
	const struct user_ranges ranges = { .list = { .v = &range,
						      .count = 1 } };
	struct table_store store;
	struct file_table t;
	char path[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, &ranges);
	for (uint32_t i = 0; i < FILE_USER_MAX + 1; i++) {
		bool has_room = i < FILE_USER_MAX;

		snprintf(path, sizeof(path), "/%u", i);
		cr_assert((get_as(&t, path, "1", 100000 + i, 7) != FILE_NONE) ==
			  has_room);
	}
	cr_expect(t.user_count == 2);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, many_users_leave_room_for_root)
{
	struct table_store store;
	struct file_table t;
	char path[32];
	uint32_t added = 0;

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (uint32_t i = 0; i < FILE_TABLE_MAX; i++) {
		snprintf(path, sizeof(path), "/%u", i);
		added += get_as(&t, path, "1", 1 + i % 5, 7) != FILE_NONE;
	}
	cr_expect(added == FILE_TABLE_MAX - FILE_ROOT_RESERVE);
	for (uint32_t i = 0; i < FILE_ROOT_RESERVE; i++) {
		snprintf(path, sizeof(path), "/root-%u", i);
		cr_assert(get(&t, path, "1", 1) != FILE_NONE);
	}
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, files_are_limited)
{
	struct table_store store;
	struct file_table t;
	char name[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (uint32_t i = 0; i < FILE_TABLE_MAX; i++) {
		snprintf(name, sizeof(name), "/%u", i);
		cr_assert(get(&t, name, "1", 1) != FILE_NONE);
	}
	cr_expect(get(&t, "/one more", "1", 1) == FILE_NONE);
	cr_expect(get(&t, "/7", "1", 1) != FILE_NONE);
	file_table_fini(&t);
	table_store_fini(&store);
}

Test(file_table, files_of_processes_that_have_ended_are_limited)
{
	struct table_store store;
	struct file_table t;
	char name[32];

	table_store_init(&store, in_kernel, 100);
	file_table_init(&t, &store, NULL);
	for (int i = 0; i < FILE_USER_MAX + 1; i++) {
		uint32_t n;

		snprintf(name, sizeof(name), "/%d", i);
		n = get_as(&t, name, "1", PROCESS_UID_GONE, 7);
		cr_assert((n == FILE_NONE) == (i == FILE_USER_MAX), "%d", i);
	}
	cr_expect(get(&t, "/root", "1", 1) != FILE_NONE, "others have room");
	file_table_fini(&t);
	table_store_fini(&store);
}
