/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Table store: the unwind tables in the kernel, in the form of packs
 * (unwind_pack.h). A table is stored once, however many processes use the file.
 * Tables remain until their room is needed. Then tables whose files no process
 * has mapped are evicted first, and after them tables that were in no sample
 * for some time, even if a process has mapped the file. If that is not enough,
 * see table_store_add(). Tables that lie next to each other in the array are
 * evicted together (table_room.h); of several such groups, the one that was
 * used longest ago goes first. A table that found no room, or was evicted while
 * a process had its file, is "crowded out": the file table reads the file again
 * when the file is sampled.
 *
 * Ownership: the store owns its tables; the entries are the sampler's.
 * Threads: one thread at a time.
 * Units: milliseconds of a clock that never goes back.
 */
#ifndef BPF_PROCESS_TABLE_STORE_H
#define BPF_PROCESS_TABLE_STORE_H

#include "base/table.h"
#include "bpf/process/extents.h"
#include "bpf/unwind/unwind_pack.h"

enum {
	/*
	 * Largest size of a key in bytes. A key consists of the build ID and
	 * the owner of a file, or of hashes of the file's path and identity.
	 */
	TABLE_KEY_MAX = 72,
	TABLE_STORE_NONE = UINT32_MAX,
	/*
	 * A table that a process has may be evicted if it was in no sample for
	 * this time.
	 */
	TABLE_IDLE_MS = 10000,
};

/* The key of a table. */
struct table_key {
	uint8_t bytes[TABLE_KEY_MAX];
	size_t len;
};

/* A table, whose entries are in the array that the kernel reads. */
struct stored_table {
	struct table_key key;
	/* user_ranges_share() of the user to whom the file belongs */
	uint32_t owner;
	/* empty: the file has no rows, or the table is crowded out */
	struct extent entries;
	uint32_t pages; /* as in struct unwind_pack; 0: no entries */
	uint32_t users; /* number of references */
	/*
	 * When the latest of these happened: the table was added, it was in a
	 * sample, it lost a reference.
	 */
	uint64_t used_at;
	bool live; /* not a gap in the array of tables */
	/*
	 * There was no room for the entries of the table, or it was evicted
	 * while it had users. table_store_find() does not find the table, so
	 * that table_store_add() looks for room again when the file, or another
	 * file with this key, is read.
	 */
	bool crowded_out;
};

/* All tables. */
struct table_store {
	struct unwind_row *entries;
	uint32_t capacity; /* number of entries */
	struct extents extents;
	VEC(struct stored_table) tables;
	VEC(uint32_t) gaps;
	struct table by_key;
	uint64_t evicted;     /* number of tables that were evicted */
	uint64_t crowded_out; /* number of tables that found no room */
	/*
	 * Tables that were evicted while they had users. The file table takes
	 * them: file_table_take_withdrawn().
	 */
	VEC(uint32_t) withdrawn;
};

/* Begin with an array of `count` entries, which must outlive the store. */
void table_store_init(struct table_store *s, struct unwind_row *entries,
		      uint32_t count);

/* Free everything but the entries. */
void table_store_fini(struct table_store *s);

/*
 * Find the table of a key, and take a reference to it. Returns the number of
 * the table, or TABLE_STORE_NONE if the store has no table with this key, or
 * only tables that are crowded out.
 */
uint32_t table_store_find(struct table_store *s, const struct table_key *key);

/*
 * Add a table that table_store_find() does not find, take a reference to it,
 * and return its number. If no free piece of the array is large enough for the
 * new table, adjacent tables are evicted that no process has and that were not
 * used for EXTENTS_DELAY_MS; the room of these tables can be used at once. If
 * this makes no piece that is large enough, the new table is crowded out: it
 * has no entries, and the kernel walks stacks by frame pointers until the file
 * is read again and there is room. So that there is room then, tables that
 * processes have are evicted, too; their room becomes free after
 * EXTENTS_DELAY_MS, when the kernel does not read their entries any more. At
 * first, a table that processes have may go only if it was not used for
 * TABLE_IDLE_MS. If the idle tables and the free entries suffice for the new
 * table and a reserve of an eighth of the array, but make no piece that is
 * large enough, sampled tables between the pieces are evicted as well; they
 * find room elsewhere when their files are read again. Otherwise, if another
 * owner, who is not root, has more than half of the array, tables of this owner
 * are evicted, provided that this owner keeps about half of the array.
 */
uint32_t table_store_add(struct table_store *s, const struct table_key *key,
			 uint32_t owner, const struct unwind_pack *pack,
			 uint64_t now);

/* Note that a table was in a sample. Returns whether it is crowded out. */
bool table_store_sampled(struct table_store *s, uint32_t number, uint64_t now);

/*
 * Return a table, borrowed until the next change. The table remains in the
 * store while there is a reference, but it loses its entries if it is evicted
 * (crowded_out).
 */
const struct stored_table *table_store_at(const struct table_store *s,
					  uint32_t number);

/*
 * Drop a reference. A table that is crowded out is removed with its last
 * reference; any other table stays in the store.
 */
void table_store_drop(struct table_store *s, uint32_t number, uint64_t now);

#endif
