/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/powercut.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file_slurp.h"
#include "base/fs.h"
#include "base/mem.h"

#define PAGE 4096u

struct node;

struct entry {
	char *name;
	struct node *node;
};

struct entries {
	struct entry *v;
	size_t count;
	size_t cap;
};

/*
 * A change to the names in a directory that has not been synced since. A
 * creation or link has only `add`, a removal has only `remove`, a rename has
 * both.
 */
struct change {
	char *remove; /* or NULL */
	char *add;    /* or NULL */
	struct node *node;
};

/* A file or directory. Nodes live as long as the powercut. */
struct node {
	struct node *next;
	bool dir;

	struct entries now;
	struct entries durable;
	struct change *changes;
	size_t change_count;
	size_t change_cap;

	char *path;        /* path of the real file while it has a name */
	struct buf synced; /* bytes as of the last sync */
	bool *dirty;       /* by page: written since the last sync */
	size_t dirty_count;
	bool resized;
	struct buf last; /* contents when its last name was removed */
	bool unnamed;
	struct syncing *syncing; /* syncs under way */
	uint64_t synced_seq;     /* `seq` of the sync that set `synced` */
};

/*
 * A sync under way: the thread that runs it, and the contents of the file when
 * it began. `seq` is the number of the call.
 */
struct syncing {
	struct syncing *next;
	pthread_t thread;
	uint64_t seq;
	struct buf bytes;
};

struct powercut {
	struct fs fs; /* must be first: the hooks cast a pointer to it */
	char *root;

	pthread_mutex_t mu;
	struct node *nodes;
	struct node *top;
	uint64_t rng;
	uint64_t calls;
	uint64_t cut_at;
	uint64_t counted; /* calls that powercut_fail_at() counts */
	bool reads_too;   /* whether `counted` includes reads */
	uint64_t fail_at;
	int fail_errno;
	bool dead;
};

/* Returns a random number from 0 to sides - 1, made by splitmix64. */
static uint64_t roll(struct powercut *p, uint64_t sides)
{
	uint64_t z = p->rng += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (z ^ z >> 31) % sides;
}

static struct node *node_new(struct powercut *p, bool dir, const char *path)
{
	struct node *n = mem_new(struct node);

	n->dir = dir;
	n->path = mem_strdup(path);
	n->next = p->nodes;
	p->nodes = n;
	return n;
}

static struct entry *entry_of(const struct entries *e, const char *name)
{
	for (size_t i = 0; i < e->count; i++) {
		if (!strcmp(e->v[i].name, name))
			return &e->v[i];
	}
	return NULL;
}

static void entry_drop(struct entries *e, const char *name)
{
	struct entry *at = entry_of(e, name);

	if (!at)
		return;
	mem_free(at->name);
	*at = e->v[--e->count];
}

static void entry_put(struct entries *e, const char *name, struct node *n)
{
	entry_drop(e, name);
	e->v = mem_grow(e->v, e->count, &e->cap, sizeof(*e->v));
	e->v[e->count++] =
		(struct entry){ .name = mem_strdup(name), .node = n };
}

static void entries_fini(struct entries *e)
{
	for (size_t i = 0; i < e->count; i++)
		mem_free(e->v[i].name);
	mem_free(e->v);
	*e = (struct entries){ 0 };
}

static void change_apply(struct entries *e, const struct change *c)
{
	if (c->remove)
		entry_drop(e, c->remove);
	if (c->add)
		entry_put(e, c->add, c->node);
}

/* Makes a change in dir, which becomes durable when dir is synced. */
static void change_add(struct node *dir, const char *from, const char *to,
		       struct node *n)
{
	struct change c = { .remove = from ? mem_strdup(from) : NULL,
			    .add = to ? mem_strdup(to) : NULL,
			    .node = n };

	dir->changes = mem_grow(dir->changes, dir->change_count,
				&dir->change_cap, sizeof(*dir->changes));
	dir->changes[dir->change_count++] = c;
	change_apply(&dir->now, &c);
}

static void changes_clear(struct node *dir)
{
	for (size_t i = 0; i < dir->change_count; i++) {
		mem_free(dir->changes[i].remove);
		mem_free(dir->changes[i].add);
	}
	dir->change_count = 0;
}

/*
 * Returns the directory that contains `path`, and sets *name to the last
 * element of the path. Returns NULL for paths outside of the root, which the
 * model does not cover, and if there is no such directory.
 */
static struct node *parent_of(struct powercut *p, const char *path,
			      const char **name)
{
	size_t len = strlen(p->root);
	struct node *dir = p->top;
	const char *at;

	if (strncmp(path, p->root, len) != 0 || path[len] != '/')
		return NULL;
	at = path + len + 1;
	for (const char *slash; (slash = strchr(at, '/')); at = slash + 1) {
		char *part = mem_strndup(
			(struct str){ .ptr = at, .len = (size_t)(slash - at) });
		struct entry *e = entry_of(&dir->now, part);

		mem_free(part);
		if (!e || !e->node->dir)
			return NULL;
		dir = e->node;
	}
	*name = at;
	return dir;
}

static struct node *node_at(struct powercut *p, const char *path)
{
	const char *name = NULL;
	struct node *dir;
	struct entry *e;

	if (!strcmp(path, p->root))
		return p->top;
	dir = parent_of(p, path, &name);
	e = dir ? entry_of(&dir->now, name) : NULL;
	return e ? e->node : NULL;
}

static void read_file(const char *path, struct buf *out)
{
	buf_reset(out);
	if (file_slurp(path, out, NULL))
		buf_reset(out);
}

static void mark_dirty(struct node *n, uint64_t offset, size_t len)
{
	size_t last = (size_t)((offset + len) / PAGE + 1);

	if (last > n->dirty_count) {
		n->dirty = mem_realloc(n->dirty, last, sizeof(*n->dirty));
		memset(n->dirty + n->dirty_count, 0, last - n->dirty_count);
		n->dirty_count = last;
	}
	for (uint64_t page = offset / PAGE; page * PAGE < offset + len; page++)
		n->dirty[page] = true;
}

/*
 * Keeps the bytes of a file that loses its last name. They are needed if the
 * power cut takes its directory back to an earlier state.
 */
static void keep_bytes(struct node *n)
{
	if (n->dir || n->unnamed)
		return;
	read_file(n->path, &n->last);
	n->unnamed = true;
}

/* Sets the real path of a renamed node and of everything below it. */
static void move_paths(struct node *n, const char *path)
{
	mem_free(n->path);
	n->path = mem_strdup(path);
	for (size_t i = 0; i < n->now.count; i++) {
		char *below = mem_printf("%s/%s", path, n->now.v[i].name);

		move_paths(n->now.v[i].node, below);
		mem_free(below);
	}
}

static void sync_begin(struct powercut *p, struct node *n)
{
	struct syncing *s = mem_new(struct syncing);

	s->thread = pthread_self();
	s->seq = p->calls;
	read_file(n->path, &s->bytes);
	s->next = n->syncing;
	n->syncing = s;
	if (n->dirty_count)
		memset(n->dirty, 0, n->dirty_count);
	n->resized = false;
}

/*
 * Ends the sync that this thread runs on the file. The contents when the sync
 * began are now durable, unless a sync that began later has already ended.
 */
static void sync_end(struct node *n)
{
	struct syncing **at = &n->syncing;
	struct syncing *s;
	struct buf was = n->synced;

	while (*at && !pthread_equal((*at)->thread, pthread_self()))
		at = &(*at)->next;
	s = *at;
	if (!s)
		return;
	*at = s->next;
	if (s->seq > n->synced_seq) {
		n->synced = s->bytes;
		n->synced_seq = s->seq;
		s->bytes = was;
	}
	buf_fini(&s->bytes);
	mem_free(s);
}

static bool is_read(enum fs_op op)
{
	return op == FS_READ || op == FS_MMAP || op == FS_PAGE;
}

static int cut_before(struct fs *fs, const struct fs_call *call)
{
	struct powercut *p = (struct powercut *)fs;
	int refused = 0;
	struct node *n;

	pthread_mutex_lock(&p->mu);
	p->calls++;
	if (p->cut_at && p->calls >= p->cut_at)
		p->dead = true;
	if (p->reads_too || !is_read(call->op))
		p->counted++;
	if (p->dead) {
		refused = EIO;
	} else if (p->fail_at && p->counted == p->fail_at) {
		p->fail_at = 0;
		refused = p->fail_errno;
	} else if (call->op == FS_UNLINK || call->op == FS_RENAME) {
		/*
		 * Keep the bytes of a file that is removed or replaced, while
		 * they can be read.
		 */
		n = node_at(p, call->op == FS_UNLINK ? call->path : call->to);
		if (n)
			keep_bytes(n);
	} else if (call->op == FS_SYNC) {
		/*
		 * A sync need not cover what is written while it runs, so the
		 * contents of the file are read now.
		 */
		n = node_at(p, call->path);
		if (n)
			sync_begin(p, n);
	}
	pthread_mutex_unlock(&p->mu);
	return refused;
}

static void opened(struct powercut *p, const struct fs_call *call)
{
	const char *name = NULL;
	struct node *dir = parent_of(p, call->path, &name);

	if (call->create && dir && !entry_of(&dir->now, name))
		change_add(dir, NULL, name, node_new(p, false, call->path));
}

static void renamed(struct powercut *p, const struct fs_call *call)
{
	struct node *n = node_at(p, call->path);
	const char *from = NULL;
	const char *to = NULL;
	struct node *dir = parent_of(p, call->path, &from);

	if (!n || parent_of(p, call->to, &to) != dir)
		return;
	change_add(dir, from, to, n);
	move_paths(n, call->to);
}

static void linked(struct powercut *p, const struct fs_call *call)
{
	struct node *n = node_at(p, call->path);
	const char *name = NULL;
	struct node *dir = parent_of(p, call->to, &name);

	if (n && dir)
		change_add(dir, NULL, name, n);
}

static void removed(struct powercut *p, const struct fs_call *call)
{
	const char *name = NULL;
	struct node *dir = parent_of(p, call->path, &name);

	if (dir && entry_of(&dir->now, name))
		change_add(dir, name, NULL, NULL);
}

static void synced_dir(struct powercut *p, const struct fs_call *call)
{
	struct node *dir = node_at(p, call->path);

	if (!dir)
		return;
	for (size_t i = 0; i < dir->change_count; i++)
		change_apply(&dir->durable, &dir->changes[i]);
	changes_clear(dir);
}

static void changed_file(struct powercut *p, const struct fs_call *call)
{
	struct node *n = node_at(p, call->path);

	if (!n)
		return;
	switch (call->op) {
	case FS_WRITE:
		mark_dirty(n, call->offset, call->len);
		n->resized = true;
		break;
	case FS_TRUNCATE:
	case FS_ALLOCATE:
		n->resized = true;
		break;
	default: /* FS_SYNC */
		sync_end(n);
		break;
	}
}

static void cut_after(struct fs *fs, const struct fs_call *call)
{
	struct powercut *p = (struct powercut *)fs;
	const char *name = NULL;
	struct node *dir;

	pthread_mutex_lock(&p->mu);
	switch (call->op) {
	case FS_OPEN:
		opened(p, call);
		break;
	case FS_MKDIR:
		dir = parent_of(p, call->path, &name);
		if (dir)
			change_add(dir, NULL, name,
				   node_new(p, true, call->path));
		break;
	case FS_RENAME:
		renamed(p, call);
		break;
	case FS_LINK:
		linked(p, call);
		break;
	case FS_UNLINK:
	case FS_RMDIR:
		removed(p, call);
		break;
	case FS_SYNC_DIR:
		synced_dir(p, call);
		break;
	case FS_READ:
	case FS_MMAP:
	case FS_PAGE:
	case FS_STAT:
	case FS_LIST:
	case FS_CLOSE:
		break;
	default:
		changed_file(p, call);
		break;
	}
	pthread_mutex_unlock(&p->mu);
}

/* Adds the existing contents of a directory to the model, as durable. */
static void adopt(struct powercut *p, struct node *dir)
{
	struct name_list l;

	if (fs_list(NULL, dir->path, &l, NULL))
		return;
	for (size_t i = 0; i < l.count; i++) {
		CLEANUP(mem_freep)
		char *path = mem_printf("%s/%s", dir->path, l.names[i]);
		struct stat st;
		struct node *n;

		if (stat(path, &st) < 0)
			continue;
		n = node_new(p, S_ISDIR(st.st_mode), path);
		entry_put(&dir->now, l.names[i], n);
		entry_put(&dir->durable, l.names[i], n);
		if (n->dir)
			adopt(p, n);
		else
			read_file(path, &n->synced);
	}
	name_list_fini(&l);
}

struct powercut *powercut_new(const char *root, uint64_t seed)
{
	struct powercut *p = mem_new(struct powercut);

	p->fs = (struct fs){ .before = cut_before, .after = cut_after };
	p->root = mem_strdup(root);
	p->rng = seed;
	pthread_mutex_init(&p->mu, NULL);
	p->top = node_new(p, true, root);
	adopt(p, p->top);
	return p;
}

static void node_free(struct node *n)
{
	changes_clear(n);
	mem_free(n->changes);
	entries_fini(&n->now);
	entries_fini(&n->durable);
	mem_free(n->path);
	mem_free(n->dirty);
	buf_fini(&n->synced);
	while (n->syncing) {
		struct syncing *s = n->syncing;

		n->syncing = s->next;
		buf_fini(&s->bytes);
		mem_free(s);
	}
	buf_fini(&n->last);
	mem_free(n);
}

void powercut_free(struct powercut *p)
{
	if (!p)
		return;
	while (p->nodes) {
		struct node *n = p->nodes;

		p->nodes = n->next;
		node_free(n);
	}
	pthread_mutex_destroy(&p->mu);
	mem_free(p->root);
	mem_free(p);
}

struct fs *powercut_fs(struct powercut *p)
{
	return &p->fs;
}

void powercut_at(struct powercut *p, uint64_t n)
{
	pthread_mutex_lock(&p->mu);
	p->cut_at = n ? p->calls + n : 0;
	pthread_mutex_unlock(&p->mu);
}

void powercut_fail_at(struct powercut *p, uint64_t n, int number)
{
	pthread_mutex_lock(&p->mu);
	p->fail_at = n ? p->counted + n : 0;
	p->fail_errno = number;
	pthread_mutex_unlock(&p->mu);
}

void powercut_count_reads(struct powercut *p)
{
	pthread_mutex_lock(&p->mu);
	p->reads_too = true;
	pthread_mutex_unlock(&p->mu);
}

bool powercut_is_armed(struct powercut *p)
{
	bool armed;

	pthread_mutex_lock(&p->mu);
	armed = p->fail_at != 0;
	pthread_mutex_unlock(&p->mu);
	return armed;
}

bool powercut_is_dead(struct powercut *p)
{
	bool dead;

	pthread_mutex_lock(&p->mu);
	dead = p->dead;
	pthread_mutex_unlock(&p->mu);
	return dead;
}

static uint8_t byte_at(const struct buf *b, size_t i)
{
	return i < b->len ? b->ptr[i] : 0;
}

/* Chooses one of the contents that n may have after the power cut. */
static void survive_bytes(struct powercut *p, struct node *n, struct buf *out)
{
	struct buf *now = &n->last;
	size_t size = n->synced.len;

	if (!n->unnamed)
		read_file(n->path, now);
	if (n->resized && now->len != size) {
		size_t low = size < now->len ? size : now->len;
		size_t high = size < now->len ? now->len : size;

		switch (roll(p, 3)) {
		case 0:
			size = now->len;
			break;
		case 1:
			size = low + (size_t)roll(p, high - low + 1);
			break;
		default:
			break;
		}
	}
	for (size_t at = 0; at < size; at += PAGE) {
		bool changed = at / PAGE < n->dirty_count &&
			       n->dirty[at / PAGE];
		const struct buf *from = changed && roll(p, 2) ? now :
								 &n->synced;
		size_t end = at + PAGE < size ? at + PAGE : size;

		for (size_t i = at; i < end; i++)
			buf_byte(out, byte_at(from, i));
	}
}

static int write_out(const char *path, struct bytes b, struct err *err)
{
	struct file *f;
	int rc = file_open(NULL, path, FILE_CREATE, &f, err);

	if (rc)
		return rc;
	rc = file_write(f, 0, b, err);
	file_close(f);
	return rc;
}

static int survive(struct powercut *p, struct node *n, const char *to,
		   struct err *err)
{
	struct buf bytes = { 0 };
	int rc;

	if (!n->dir) {
		survive_bytes(p, n, &bytes);
		rc = write_out(to, buf_bytes(&bytes), err);
		buf_fini(&bytes);
		return rc;
	}
	for (uint64_t kept = roll(p, n->change_count + 1), i = 0; i < kept; i++)
		change_apply(&n->durable, &n->changes[i]);
	rc = fs_mkdir(NULL, to, err);
	for (size_t i = 0; i < n->durable.count && !rc; i++) {
		char *path = mem_printf("%s/%s", to, n->durable.v[i].name);

		rc = survive(p, n->durable.v[i].node, path, err);
		mem_free(path);
	}
	return rc;
}

int powercut_restore(struct powercut *p, const char *to, struct err *err)
{
	int rc;

	pthread_mutex_lock(&p->mu);
	rc = survive(p, p->top, to, err);
	pthread_mutex_unlock(&p->mu);
	return rc;
}
