/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/process/file_table.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/hash.h"
#include "base/mem.h"

/* The key by which a file is looked up. */
struct file_name {
	struct str path;
	struct file_identity identity;
	uint32_t uid;
};

static uint64_t file_name_hash(const struct file_name *name)
{
	return hash_key(bytes_of(name->path)) ^
	       hash_key(name->identity.bytes) * 31 ^ hash_number(name->uid);
}

static struct file_name file_name_of(const struct mapped_file *f)
{
	return (struct file_name){ .path = str_of(f->path),
				   .identity = f->identity,
				   .uid = f->uid };
}

/*
 * Callback of table_find(): whether file number `number` has the struct
 * file_name `key`.
 */
static bool file_name_same(const void *ctx, uint32_t number, const void *key)
{
	const struct file_table *t = ctx;
	const struct file_name *name = key;
	struct file_name other = file_name_of(&t->files.v[number]);

	return name->uid == other.uid && str_eq(name->path, other.path) &&
	       name->identity.is_build_id == other.identity.is_build_id &&
	       bytes_eq(name->identity.bytes, other.identity.bytes);
}

/* Return how many files may stay open in this process. */
static size_t file_table_open_max(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) ||
	    files.rlim_cur / FILES_OPEN_PART >= FILES_OPEN_MAX)
		return FILES_OPEN_MAX;
	return files.rlim_cur / FILES_OPEN_PART;
}

void file_table_init(struct file_table *t, struct table_store *store,
		     const struct user_ranges *ranges)
{
	*t = (struct file_table){ .store = store,
				  .ranges = ranges,
				  .open_max = file_table_open_max(),
				  .user_count = 1 };
}

/* Close a file, if it is open. */
static void mapped_file_close(struct file_table *t, struct mapped_file *f)
{
	if (f->fd < 0)
		return;
	close(f->fd);
	f->fd = -1;
	t->open_count--;
	t->users[f->user].open--;
}

/*
 * Whether one more file of a user may stay open. For root, only the limit of
 * all files together holds.
 */
static bool file_table_may_keep(const struct file_table *t,
				const struct file_user *u)
{
	return t->open_count < t->open_max &&
	       (!u->uid || u->open < t->open_max / FILES_OPEN_USER_PART);
}

/*
 * Store the owner of a file, and close the descriptor that the file has had.
 * Then take read->fd over, unless too many files are open.
 */
static void mapped_file_keep(struct file_table *t, struct mapped_file *f,
			     struct elf_read *read)
{
	struct file_user *u = &t->users[f->user];

	mapped_file_close(t, f);
	f->owner = read->owner;
	if (!file_table_may_keep(t, u) || read->fd < 0)
		return;
	f->fd = read->fd;
	read->fd = -1;
	t->open_count++;
	u->open++;
}

/*
 * Of the users who have files to be read, return the one whose files have taken
 * the least time to read. NULL: there is no such user.
 */
static struct file_user *file_table_least(struct file_table *t)
{
	struct file_user *least = NULL;

	for (unsigned i = 0; i < t->user_count; i++) {
		struct file_user *u = &t->users[i];

		if (u->unread.list.count && (!least || u->spent < least->spent))
			least = u;
	}
	return least;
}

/*
 * Begin the entry of a new user. The time spent begins with the least time of
 * the users who have files to be read, because otherwise the new user would
 * have an advantage over them.
 */
static void file_user_begin(struct file_table *t, struct file_user *u,
			    uint32_t uid)
{
	const struct file_user *least = file_table_least(t);

	vec_fini(&u->unread.list);
	*u = (struct file_user){ .uid = uid,
				 .spent = least ? least->spent : 0 };
}

/*
 * Return the index of the user `uid`. If all entries are taken when a user is
 * new, the entry of a user other than root who has no files is used again. If
 * all users other than root have files, the new user shares the last entry.
 */
static unsigned file_table_user(struct file_table *t, uint32_t uid)
{
	unsigned unused = FILE_USERS - 1;

	for (unsigned i = t->user_count; i--;) {
		if (t->users[i].uid == uid)
			return i;
		if (i && !t->users[i].files)
			unused = i;
	}
	if (t->user_count < FILE_USERS)
		unused = t->user_count++;
	if (!t->users[unused].files)
		file_user_begin(t, &t->users[unused], uid);
	return unused;
}

/* Append a file to the files to be read. */
static void mapped_file_ask(struct file_table *t, uint32_t number)
{
	struct mapped_file *f = &t->files.v[number];

	f->state = MAPPED_UNREAD;
	*vec_add(&t->users[f->user].unread.list) = number;
}

/* Free what a file has. */
static void mapped_file_fini(struct file_table *t, struct mapped_file *f)
{
	mapped_file_close(t, f);
	mem_free(f->path);
	mem_free(f->identity.bytes.ptr);
	mem_free(f->segments);
}

void file_table_fini(struct file_table *t)
{
	for (size_t i = 0; i < t->files.count; i++) {
		if (t->files.v[i].live)
			mapped_file_fini(t, &t->files.v[i]);
	}
	vec_fini(&t->files);
	vec_fini(&t->gaps);
	for (unsigned i = 0; i < t->user_count; i++)
		vec_fini(&t->users[i].unread.list);
	table_fini(&t->by_name);
}

/*
 * Whether there is room for one more file of a user. For root, only the limit
 * of all files together holds.
 */
static bool file_table_has_room(const struct file_table *t,
				const struct file_user *u)
{
	size_t count = t->by_name.count;

	if (!u->uid)
		return count < FILE_TABLE_MAX;
	return count < FILE_TABLE_MAX - FILE_ROOT_RESERVE &&
	       u->files < FILE_USER_MAX;
}

/* Add a file, or return FILE_NONE, if there is no room for it. */
static uint32_t file_table_add(struct file_table *t,
			       const struct file_name *name, uint32_t pid)
{
	unsigned user =
		file_table_user(t, user_ranges_share(t->ranges, name->uid));
	struct file_user *u = &t->users[user];
	uint32_t number;

	if (!file_table_has_room(t, u)) {
		t->refused++;
		return FILE_NONE;
	}
	u->files++;
	number = t->gaps.count ? t->gaps.v[--t->gaps.count] :
				 (uint32_t)t->files.count;
	if (number == t->files.count)
		vec_add(&t->files);
	t->files.v[number] = (struct mapped_file){
		.path = mem_strndup(name->path),
		.identity = { .is_build_id = name->identity.is_build_id,
			      .bytes = { .ptr = mem_dup(
						 name->identity.bytes.ptr,
						 name->identity.bytes.len),
					 .len = name->identity.bytes.len } },
		.uid = name->uid,
		.pid = pid,
		.user = user,
		.live = true,
		.in_use = true,
		.table = TABLE_STORE_NONE,
		.fd = -1,
	};
	table_add(&t->by_name, file_name_hash(name), number);
	mapped_file_ask(t, number);
	return number;
}

static uint32_t file_table_find(const struct file_table *t,
				const struct file_name *name)
{
	return table_find(&t->by_name, file_name_hash(name), file_name_same, t,
			  name);
}

/*
 * Return the key of the unwind table of a file. With a build ID, the key is
 * made of the build ID and the owner, so that only files of one owner share a
 * table: another user could write the build ID of somebody's program into a
 * file with other contents. Without a build ID, the key is made of the path and
 * the identity.
 */
static struct table_key mapped_file_key(const struct mapped_file *f)
{
	struct table_key key = { .len = f->build_id_len };
	uint8_t digest[DIGEST_SHA256_SIZE];

	memcpy(key.bytes, f->build_id, f->build_id_len);
	if (key.len) {
		memcpy(key.bytes + key.len, &f->owner, sizeof(f->owner));
		key.len += sizeof(f->owner);
		return key;
	}
	digest_sha256(bytes_of(str_of(f->path)), key.bytes);
	digest_sha256(f->identity.bytes, digest);
	memcpy(key.bytes + sizeof(digest), digest, sizeof(digest));
	/*
	 * This is more than the length of any key with a build ID, so no key of
	 * one kind equals one of the other kind.
	 */
	key.len = TABLE_KEY_MAX;
	return key;
}

/*
 * Use a file again that was closed because no process had it: now process `pid`
 * has it. Look its unwind table up in the store, and let the file be opened
 * again.
 */
static void mapped_file_revive(struct file_table *t, uint32_t number,
			       uint32_t pid)
{
	struct mapped_file *f = &t->files.v[number];
	const struct table_key key = mapped_file_key(f);

	f->unused_at = 0;
	t->unused_count--;
	t->users[f->user].unused--;
	f->pid = pid;
	f->table = table_store_find(t->store, &key);
	mapped_file_ask(t, number);
}

/*
 * Look up a file that is new or waits to be read, and add it if it is new.
 * Returns its number, or FILE_NONE if there is no room for it. The file will be
 * opened as the user of process `pid`. A process may change its user, so this
 * user is first read from /proc again and stored in `name`.
 */
static uint32_t file_table_ask(struct file_table *t, struct file_name *name,
			       struct process_uid *asker, uint32_t pid)
{
	uint32_t number;

	name->uid = process_uid_ask(asker, pid);
	number = file_table_find(t, name);
	if (number == TABLE_NONE)
		return file_table_add(t, name, pid);
	if (t->files.v[number].unused_at)
		mapped_file_revive(t, number, pid);
	t->files.v[number].pid = pid;
	return number;
}

uint32_t file_table_get(struct file_table *t, struct str path,
			const struct file_identity *identity,
			struct process_uid *asker, uint32_t pid)
{
	struct file_name name = { .path = path,
				  .identity = *identity,
				  .uid = process_uid_find(asker, pid) };
	uint32_t number = file_table_find(t, &name);

	if (number != TABLE_NONE && t->files.v[number].unused_at)
		mapped_file_revive(t, number, pid);
	else if (number == TABLE_NONE ||
		 t->files.v[number].state == MAPPED_UNREAD)
		number = file_table_ask(t, &name, asker, pid);
	return number;
}

/*
 * Halve `spent` of each user, unless this was done less than FILE_FADE_MS ago.
 */
static void file_table_fade(struct file_table *t, uint64_t now)
{
	if (now < t->faded_at + FILE_FADE_MS)
		return;
	t->faded_at = now;
	for (unsigned i = 0; i < t->user_count; i++)
		t->users[i].spent /= 2;
}

uint32_t file_table_next(struct file_table *t, uint64_t now)
{
	struct file_user *u = file_table_least(t);
	struct mapped_file *f;
	uint32_t number;

	if (!u)
		return FILE_NONE;
	file_table_fade(t, now);
	number = u->unread.list.v[--u->unread.list.count];
	f = &t->files.v[number];
	f->state = MAPPED_PENDING;
	/*
	 * If the unwind table of the file is crowded out, the file must be read
	 * again, because the entries of the table were not kept.
	 */
	f->is_known = f->table != TABLE_STORE_NONE &&
		      !table_store_at(t->store, f->table)->crowded_out;
	t->asked_at = now;
	return number;
}

/* Drop the reference to the table of a file. */
static void mapped_file_drop_table(struct file_table *t, struct mapped_file *f,
				   uint64_t now)
{
	if (f->table != TABLE_STORE_NONE)
		table_store_drop(t->store, f->table, now);
	f->table = TABLE_STORE_NONE;
}

bool file_table_learn(struct file_table *t, uint32_t number,
		      struct elf_read *read, uint64_t now)
{
	struct mapped_file *f = &t->files.v[number];
	const struct elf_facts *facts = read ? &read->facts : NULL;
	struct table_key key;

	if (f->state != MAPPED_PENDING)
		return false;
	f->tried_at = now;
	t->users[f->user].spent += now - t->asked_at;
	/*
	 * If the file was known before and cannot be read again, its facts
	 * stay. Its unwind table may have been evicted while no process had the
	 * file. Then the file must be read later, so the attempt has failed.
	 */
	f->state = facts || (f->segments && f->table != TABLE_STORE_NONE) ?
			   MAPPED_READ :
			   MAPPED_FAILED;
	f->failures = facts ? 0 :
			      f->failures + (f->failures < FILE_FAILURES_MAX);
	if (!facts)
		return false;
	mapped_file_keep(t, f, read);
	f->opened_as = read->state;
	if (read->unchanged)
		return false;
	mem_free(f->segments);
	f->segment_count = facts->segment_count;
	f->segments = mem_dup(facts->segments,
			      facts->segment_count * sizeof(*f->segments));
	f->build_id_len = facts->build_id.len;
	bytes_copy(f->build_id, facts->build_id);
	key = mapped_file_key(f);
	mapped_file_drop_table(t, f, now);
	f->table = table_store_find(t->store, &key);
	if (f->table == TABLE_STORE_NONE)
		f->table = table_store_add(
			t->store, &key, user_ranges_share(t->ranges, f->owner),
			&facts->table, now);
	return true;
}

/*
 * Return the time from which on a sampled file may be read again. UINT64_MAX:
 * the file need not be read again, or already waits to be read, or is being
 * read.
 */
static uint64_t mapped_file_retry_at(const struct mapped_file *f,
				     bool is_crowded_out)
{
	if (f->state == MAPPED_FAILED)
		return f->tried_at + (FILE_FAILED_MS << (f->failures - 1));
	if (f->state == MAPPED_READ && is_crowded_out)
		return f->tried_at + FILE_RETRY_MS;
	return UINT64_MAX;
}

void file_table_sampled(struct file_table *t, uint32_t number, uint32_t pid,
			uint64_t now)
{
	struct process_uid sampled = process_uid_init();
	struct mapped_file *f = &t->files.v[number];
	bool is_crowded_out = f->table != TABLE_STORE_NONE &&
			      table_store_sampled(t->store, f->table, now);

	if (now < mapped_file_retry_at(f, is_crowded_out))
		return;
	/*
	 * A file is opened only through processes of its user. Process `pid`
	 * may have another user: it may have inherited its mappings from a
	 * process of f->uid.
	 */
	if (process_uid_find(&sampled, pid) == f->uid)
		f->pid = pid;
	mapped_file_ask(t, number);
}

const struct mapped_file *file_table_at(const struct file_table *t,
					uint32_t number)
{
	return &t->files.v[number];
}

void file_table_resolve(const struct file_table *t, uint32_t number,
			uint64_t offset, struct sampler_mapping *m)
{
	const struct stored_table *table;
	const struct mapped_file *f;
	uint64_t bias;

	m->bias = 0;
	m->table = 0;
	m->pages = 0;
	if (number == FILE_NONE)
		return;
	f = &t->files.v[number];
	if (f->table == TABLE_STORE_NONE ||
	    !elf_segments_bias(f->segments, f->segment_count, offset, m->start,
			       &bias))
		return;
	table = table_store_at(t->store, f->table);
	m->bias = bias;
	m->table = table->entries.first;
	m->pages = table->pages;
}

void file_table_take_withdrawn(struct file_table *t, struct file_numbers *out)
{
	for (size_t i = 0; i < t->store->withdrawn.count; i++) {
		uint32_t table = t->store->withdrawn.v[i];

		for (uint32_t k = 0; k < t->files.count; k++) {
			if (t->files.v[k].live && t->files.v[k].table == table)
				*vec_add(&out->list) = k;
		}
	}
	t->store->withdrawn.count = 0;
}

void file_table_count_begin(struct file_table *t)
{
	for (size_t i = 0; i < t->files.count; i++)
		t->files.v[i].in_use = false;
}

void file_table_count(struct file_table *t, uint32_t number)
{
	if (number != FILE_NONE)
		t->files.v[number].in_use = true;
}

/* Remove the files that no process has from the lists of files to be read. */
static void file_table_trim(struct file_table *t)
{
	for (unsigned i = 0; i < t->user_count; i++) {
		struct file_numbers *n = &t->users[i].unread;
		size_t left = 0;

		for (size_t k = 0; k < n->list.count; k++) {
			const struct mapped_file *f = &t->files.v[n->list.v[k]];

			if (f->live && !f->unused_at)
				n->list.v[left++] = n->list.v[k];
		}
		n->list.count = left;
	}
}

/*
 * Whether to keep what is known of a file that no process has. Users other than
 * root leave room to each other, and to root.
 */
static bool file_table_may_rest(const struct file_table *t,
				const struct mapped_file *f)
{
	const struct file_user *u = &t->users[f->user];
	const size_t part = FILES_UNUSED_MAX / FILES_UNUSED_USER_PART;

	if (!f->opened_as.device || f->state == MAPPED_FAILED ||
	    t->unused_count >= FILES_UNUSED_MAX)
		return false;
	return !u->uid ||
	       (u->unused < part && t->unused_count < FILES_UNUSED_MAX - part);
}

/*
 * Close a file that no process has, and drop its reference to the unwind table,
 * but keep what else is known of it.
 */
static void mapped_file_rest(struct file_table *t, struct mapped_file *f,
			     uint64_t now)
{
	mapped_file_close(t, f);
	mapped_file_drop_table(t, f, now);
	f->state = MAPPED_READ;
	f->unused_at = now ? now : 1;
	t->unused_count++;
	t->users[f->user].unused++;
}

/* Forget a file. */
static void file_table_forget(struct file_table *t, uint32_t number,
			      uint64_t now)
{
	struct mapped_file *f = &t->files.v[number];
	struct file_name name = file_name_of(f);

	table_remove(&t->by_name, file_name_hash(&name), number);
	mapped_file_drop_table(t, f, now);
	if (f->unused_at) {
		t->unused_count--;
		t->users[f->user].unused--;
	}
	t->users[f->user].files--;
	mapped_file_fini(t, f);
	f->live = false;
	*vec_add(&t->gaps) = number;
}

void file_table_count_end(struct file_table *t, uint64_t now)
{
	for (uint32_t i = 0; i < t->files.count; i++) {
		struct mapped_file *f = &t->files.v[i];

		if (!f->live || f->in_use || f->state == MAPPED_PENDING)
			continue;
		if (!f->unused_at && file_table_may_rest(t, f))
			mapped_file_rest(t, f, now);
		else if (!f->unused_at || now - f->unused_at >= FILE_UNUSED_MS)
			file_table_forget(t, i, now);
	}
	file_table_trim(t);
}
