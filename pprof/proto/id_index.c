/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/proto/id_index.h"

#include <stdlib.h>
#include <string.h>

/* Capacity, in ids, above which id_index_reset() frees the map's memory. */
#define IDS_KEPT ((size_t)128 * 1024)

void id_index_reset(struct id_index *m)
{
	/*
	 * One huge profile must not pin its memory for the life of the decoder.
	 */
	if (m->pairs.cap > IDS_KEPT || m->places_cap > IDS_KEPT)
		id_index_fini(m);
	m->pairs.count = 0;
	m->count = 0;
	m->max = 0;
	m->scattered = false;
}

void id_index_fini(struct id_index *m)
{
	vec_fini(&m->pairs);
	mem_free(m->places);
	*m = (struct id_index){ 0 };
}

/*
 * Add an entry to m->pairs, which is used only after an id was out of
 * sequence.
 */
static void id_index_add_pair(struct id_index *m, uint64_t id, size_t place)
{
	*vec_add(&m->pairs) = (struct id_index_pair){
		.id = id,
		.place = (uint32_t)place,
	};
	m->max = id > m->max ? id : m->max;
}

/*
 * Called for the first id that is out of sequence. The ids added before are 1 …
 * count and were not stored; from now on all ids have entries in m->pairs.
 */
static void id_index_scatter(struct id_index *m)
{
	m->scattered = true;
	for (size_t i = 0; i < m->count; i++)
		id_index_add_pair(m, i + 1, i);
}

void id_index_add(struct id_index *m, uint64_t id)
{
	if (!m->scattered && id != m->count + 1)
		id_index_scatter(m);
	if (m->scattered)
		id_index_add_pair(m, id, m->count);
	m->count++;
}

/* Build the array that is indexed by id. Returns false for a duplicate id. */
static bool seal_dense(struct id_index *m)
{
	size_t n = (size_t)m->max + 1;

	if (n > m->places_cap) {
		m->places = mem_realloc(m->places, n, sizeof(*m->places));
		m->places_cap = n;
	}
	memset(m->places, 0xff, n * sizeof(*m->places));
	for (size_t i = 0; i < m->pairs.count; i++) {
		uint32_t *place = &m->places[m->pairs.v[i].id];

		if (*place != ID_INDEX_NONE)
			return false;
		*place = m->pairs.v[i].place;
	}
	return true;
}

/* qsort() and bsearch() order of struct id_index_pair. */
static int by_id(const void *a, const void *b)
{
	uint64_t x = ((const struct id_index_pair *)a)->id;
	uint64_t y = ((const struct id_index_pair *)b)->id;

	return (x > y) - (x < y);
}

/*
 * Ids count as dense if the array indexed by id has at most about four elements
 * for each id. A lookup then costs one load instead of a binary search.
 */
bool id_index_seal(struct id_index *m)
{
	if (!m->scattered)
		return true;
	m->dense = m->max / 4 <= m->count + 64;
	if (m->dense)
		return seal_dense(m);
	qsort(m->pairs.v, m->pairs.count, sizeof(*m->pairs.v), by_id);
	for (size_t i = 1; i < m->pairs.count; i++) {
		if (m->pairs.v[i].id == m->pairs.v[i - 1].id)
			return false;
	}
	return true;
}

uint32_t id_index_find_scattered(const struct id_index *m, uint64_t id)
{
	struct id_index_pair key = { .id = id };
	const struct id_index_pair *found;

	if (m->dense)
		return id <= m->max ? m->places[id] : ID_INDEX_NONE;
	found = bsearch(&key, m->pairs.v, m->pairs.count, sizeof(key), by_id);
	return found ? found->place : ID_INDEX_NONE;
}
