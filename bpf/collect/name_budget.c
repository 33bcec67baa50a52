/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/collect/name_budget.h"

#define MS 1000000LL
/*
 * For how long a file that took too long must not be read again: at first, and
 * at most.
 */
#define PAUSE_FIRST (30000 * MS)
#define PAUSE_MAX   (3600000 * MS)

void name_budget_begin(struct name_budget *b, int64_t now)
{
	/* Root always has an entry of its own. */
	b->users[0].uid = 0;
	b->users[0].spent = 0;
	b->user_count = 1;
	b->end = b->window_ms ? now + b->window_ms * MS : 0;
}

/* Return the entry of a file that took too long before, or NULL. */
static const struct slow_file *name_budget_slow(const struct name_budget *b,
						uint64_t file)
{
	for (size_t i = 0; i < NAME_BUDGET_FILES; i++) {
		if (b->files[i].failures && b->files[i].key == file)
			return &b->files[i];
	}
	return NULL;
}

/*
 * Return the index of the entry of a user in `users`; for a new user, the index
 * of the entry to be added. If the array is full, new users share its last
 * entry.
 */
static unsigned name_budget_user(const struct name_budget *b, uint32_t uid)
{
	unsigned i = 0;

	while (i < b->user_count && b->users[i].uid != uid)
		i++;
	return i < NAME_BUDGET_USERS ? i : NAME_BUDGET_USERS - 1;
}

/* Return the time that a user has spent in this window. */
static int64_t name_budget_spent(const struct name_budget *b, uint32_t uid)
{
	unsigned i = name_budget_user(b, uid);

	return i < b->user_count ? b->users[i].spent : 0;
}

/*
 * A user other than root may spend half of the window's time, so that some time
 * is left for other users.
 */
int64_t name_budget_end(const struct name_budget *b, uint64_t file,
			uint32_t uid, int64_t now)
{
	const struct slow_file *slow = name_budget_slow(b, file);
	int64_t share = b->window_ms * MS / (uid ? 2 : 1);
	int64_t end;

	if (slow && now < slow->until)
		return now;
	if (!b->end)
		return 0;
	end = now + share - name_budget_spent(b, uid);
	return end < b->end ? end : b->end;
}

/*
 * Forbid reading a file for a while: PAUSE_FIRST at first, each further time
 * twice as long, up to PAUSE_MAX.
 */
static void name_budget_pause(struct name_budget *b, uint64_t file, int64_t now)
{
	const struct slow_file *old = name_budget_slow(b, file);
	unsigned failures = old ? old->failures + 1 : 1;
	int64_t pause = PAUSE_FIRST;
	size_t at = old ? (size_t)(old - b->files) :
			  b->next_file++ % NAME_BUDGET_FILES;

	for (unsigned i = 1; i < failures && pause < PAUSE_MAX; i++)
		pause *= 2;
	b->files[at] = (struct slow_file){
		.key = file,
		.until = now + (pause < PAUSE_MAX ? pause : PAUSE_MAX),
		.failures = failures,
	};
}

void name_budget_spend(struct name_budget *b, uint64_t file, uint32_t uid,
		       int64_t began, int64_t now, bool late)
{
	unsigned i = name_budget_user(b, uid);

	/*
	 * If little time was left before the deadline, reading may have been
	 * late although the file is not slow. So the file counts as slow only
	 * if reading it took a quarter of the window's time.
	 */
	if (late && now - began >= b->window_ms * MS / 4)
		name_budget_pause(b, file, now);
	if (i == b->user_count) {
		b->users[i].uid = uid;
		b->users[i].spent = 0;
		b->user_count++;
	}
	b->users[i].spent += now - began;
}
