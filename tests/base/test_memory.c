/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of memory: allocations that never fail, arenas, vectors, and
 * buffers that stop at their maximum.
 */
#include <stdalign.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "tests/check.h"

TestSuite(memory, .timeout = 30);

static bool all_zero(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (((const uint8_t *)p)[i])
			return false;
	}
	return true;
}

/* Sizes whose product does not fit, hidden from the compiler's own warnings. */
static volatile size_t huge = SIZE_MAX / 2;

static void zalloc_too_much(void)
{
	mem_free(mem_zalloc(huge, 4));
}

static void realloc_too_much(void)
{
	mem_free(mem_realloc(NULL, huge, 4));
}

static void alloc_too_much(void)
{
	mem_free(mem_alloc(huge));
}

static void arena_of_a_negative_size(void)
{
	struct arena a = { 0 };

	arena_alloc(&a, SIZE_MAX - 1);
}

/*
 * Whether fn ends the process that calls it. A copy of this process tries it.
 */
static bool ends_the_process(void (*fn)(void))
{
	pid_t child = fork();
	int status = 0;

	cr_assert(child >= 0);
	if (!child) {
		/* The message, or a sanitizer's report, is not of interest. */
		close(STDERR_FILENO);
		fn();
		_exit(0);
	}
	cr_assert(waitpid(child, &status, 0) == child);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

Test(memory, an_allocation_that_cannot_be_ends_the_process)
{
	cr_expect(ends_the_process(zalloc_too_much));
	cr_expect(ends_the_process(realloc_too_much));
	cr_expect(ends_the_process(alloc_too_much));
	cr_expect(ends_the_process(arena_of_a_negative_size));
}

Test(memory, sizes_of_zero_give_pointers_too)
{
	void *a = mem_alloc(0);
	void *b = mem_zalloc(0, 8);
	void *c = mem_zalloc(8, 0);
	void *d = mem_realloc(NULL, 0, 8);
	void *e = mem_dup(NULL, 0);

	cr_assert(a);
	cr_assert(b);
	cr_assert(c);
	cr_assert(d);
	cr_expect(e);
	mem_free(a);
	mem_free(b);
	mem_free(c);
	mem_free(mem_realloc(d, 0, 0));
	mem_free(e);
	mem_free(NULL);
	mem_forget(NULL);
}

Test(memory, copies_are_whole_and_apart)
{
	char text[] = "ab\0cd";
	char *whole = mem_strdup(text);
	char *part = mem_strndup((struct str){ .ptr = text, .len = 5 });
	char *none = mem_strndup((struct str){ 0 });
	char *bytes = mem_dup(text, sizeof(text));
	char *made = mem_printf("%s-%d", text, 7);
	char *secret = mem_strdup("hunter2");

	text[0] = 'x';
	cr_expect(!strcmp(whole, "ab"));
	cr_expect(!memcmp(part, "ab\0cd", 6), "the NUL is behind the view");
	cr_expect(!strcmp(none, ""));
	cr_expect(!memcmp(bytes, "ab\0cd", sizeof(text)));
	cr_expect(!strcmp(made, "ab-7"));
	mem_free(whole);
	mem_free(part);
	mem_free(none);
	mem_free(bytes);
	mem_free(made);
	mem_forget(secret);
}

Test(memory, a_freed_variable_is_null)
{
	char *text = mem_strdup("x");

	mem_freep(&text);
	cr_expect(!text);
	mem_freep(&text);
	{
		CLEANUP(mem_freep) char *scoped = mem_strdup("y");

		text = TAKE(scoped);
		cr_assert(!scoped);
		cr_expect(!strcmp(text, "y"));
	}
	mem_free(text);
}

Test(memory, growing_keeps_what_was_there_and_rarely_moves)
{
	int *v = NULL;
	size_t cap = 0;
	size_t grown = 0;

	for (size_t n = 0; n < 10000; n++) {
		size_t before = cap;

		v = mem_grow(v, n, &cap, sizeof(*v));
		cr_assert(cap >= n + 1);
		grown += cap != before;
		v[n] = (int)n;
	}
	for (size_t n = 0; n < 10000; n++)
		cr_assert(v[n] == (int)n);
	cr_expect(grown < 25, "grown %zu times", grown);
	mem_free(v);
}

Test(memory, what_an_arena_returns_is_zero_aligned_and_apart)
{
	static const size_t sizes[] = { 1,    0,    3,       16,      17,
					4000, 5000, 1 << 20, 3 << 20, 2 };
	struct arena a = { 0 };
	uint8_t *got[ARRAY_SIZE(sizes)];
	size_t sum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		got[i] = arena_alloc(&a, sizes[i]);
		cr_assert(got[i]);
		cr_expect((uintptr_t)got[i] % alignof(max_align_t) == 0);
		cr_expect(all_zero(got[i], sizes[i]), "size %zu", sizes[i]);
		memset(got[i], (int)i + 1, sizes[i]);
		sum += sizes[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			cr_assert(got[i][k] == i + 1, "size %zu", sizes[i]);
	}
	cr_expect(a.used >= sum);
	arena_fini(&a);
	cr_assert(!a.chunks);
	cr_expect(!a.used);
	cr_expect(all_zero(arena_alloc(&a, 4096), 4096), "usable again");
	arena_fini(&a);
	arena_fini(&a);
}

Test(memory, an_arena_copies_texts_with_a_nul_behind_them)
{
	struct arena a = { 0 };
	char text[] = "ab\0c";
	struct str view = { .ptr = text, .len = 4 };
	struct str copy = arena_str(&a, view);
	const char *wide = arena_printf(&a, "%05000d|%s", 7, "end");
	int *numbers = arena_array(&a, int, 10);

	text[0] = 'x';
	cr_assert(copy.len == 4);
	cr_expect(!memcmp(copy.ptr, "ab\0c", 5));
	cr_expect(!memcmp(arena_strndup(&a, view), "xb\0c", 5));
	cr_expect(!*arena_strndup(&a, (struct str){ 0 }));
	cr_assert(strlen(wide) == 5004);
	cr_expect(!strcmp(wide + 4999, "7|end"));
	cr_expect(all_zero(numbers, 10 * sizeof(*numbers)));
	cr_expect(*arena_new(&a, int64_t) == 0);
	arena_fini(&a);
}

Test(memory, a_vector_grows_and_empties)
{
	VEC(int) v = { 0 };

	cr_expect(vec_memory(&v) == 0);
	for (int i = 0; i < 1000; i++)
		*vec_add(&v) = i;
	cr_assert(v.count == 1000);
	cr_assert(v.v[0] == 0);
	cr_expect(v.v[999] == 999);
	vec_reserve(&v, 5000);
	cr_assert(v.count == 1000);
	cr_assert(v.cap >= 6000);
	cr_expect(v.v[999] == 999);
	cr_expect(vec_memory(&v) == v.cap * sizeof(int));
	int *at = v.v;

	for (int i = 0; i < 5000; i++)
		*vec_add(&v) = i;
	cr_expect(v.v == at, "there was room for all of them");
	vec_reserve(&v, 0);
	cr_expect(v.v == at);
	vec_fini(&v);
	cr_assert(!v.v);
	cr_assert(!v.count);
	cr_expect(!v.cap);
	*vec_add(&v) = 3;
	cr_assert(v.count == 1);
	cr_expect(v.v[0] == 3);
	vec_fini(&v);
}

/* A vector, and how often it was asked for. */
struct asked_vector {
	VEC(int) list;
	int asked;
};

static struct asked_vector *vector_ask(struct asked_vector *v)
{
	v->asked++;
	return v;
}

Test(memory, the_argument_of_a_vector_macro_is_evaluated_once)
{
	struct asked_vector v = { .asked = 0 };
	const int more[] = { 1, 3 };

	*vec_add(&vector_ask(&v)->list) = 4;
	cr_expect(v.asked == 1, "vec_add");
	vec_reserve(&vector_ask(&v)->list, 100);
	cr_expect(v.asked == 2, "vec_reserve");
	vec_add_all(&vector_ask(&v)->list, more, 2);
	cr_expect(v.asked == 3, "vec_add_all");
	*vec_insert(&vector_ask(&v)->list, 1) = 2;
	cr_expect(v.asked == 4, "vec_insert");
	vec_remove(&vector_ask(&v)->list, 0, 1);
	cr_expect(v.asked == 5, "vec_remove");
	cr_expect(vec_partition_point(&vector_ask(&v)->list, e, *e < 3) == 2);
	cr_expect(v.asked == 6, "vec_partition_point");
	cr_assert(v.list.count == 3);
	cr_assert(v.list.v[0] == 2);
	cr_expect(v.list.v[2] == 3);
	vec_fini(&vector_ask(&v)->list);
	cr_expect(v.asked == 7, "vec_fini");
}

Test(memory, the_partition_point_of_a_vector_is_found)
{
	VEC(int) v = { 0 };

	cr_expect(vec_partition_point(&v, e, *e < 1) == 0, "empty");
	for (int n = 1; n < 20; n++) {
		*vec_add(&v) = n * 2;
		for (int key = 0; key <= n * 2 + 2; key++) {
			size_t most = (size_t)n;
			size_t before = (size_t)(key ? (key - 1) / 2 : 0);
			size_t until = (size_t)key / 2;

			cr_expect(vec_partition_point(&v, e, *e < key) ==
					  (before < most ? before : most),
				  "%d of %d", key, n);
			cr_expect(vec_partition_point(&v, e, *e <= key) ==
					  (until < most ? until : most),
				  "%d of %d", key, n);
		}
	}
	vec_fini(&v);
}

Test(memory, buf_lower_changes_ascii_letters)
{
	struct buf b = { 0 };

	buf_lower(&b, str_of("AZ[@ az\xc3\x84 19"));
	cr_expect(str_is(str_from(buf_bytes(&b)), "az[@ az\xc3\x84 19"));
	buf_fini(&b);
}

Test(memory, a_full_buffer_refuses_and_says_so)
{
	struct buf b = buf_init(10);

	cr_assert(buf_reserve(&b, 10));
	cr_assert(b.cap == 10);
	cr_expect(!b.over);
	buf_add(&b, "0123456789", 10);
	cr_assert(!b.over, "exactly at the maximum");
	cr_expect(b.len == 10, "exactly at the maximum");
	buf_add(&b, NULL, 0);
	cr_expect(!b.over, "nothing always fits");
	cr_expect(buf_reserve(&b, 0));
	buf_byte(&b, 'x');
	cr_assert(b.over);
	cr_expect(b.len == 10);
	cr_expect(!buf_reserve(&b, 0), "the error stays");
	cr_expect(!strcmp(buf_cstr(&b), ""));
	buf_reset(&b);
	cr_assert(!b.over);
	cr_expect(b.cap == 10);
	cr_assert(!buf_reserve(&b, SIZE_MAX), "no overflow");
	cr_expect(b.over, "no overflow");
	buf_fini(&b);
	cr_assert(!b.ptr, "the maximum stays");
	cr_assert(!b.cap, "the maximum stays");
	cr_expect(b.max == 10, "the maximum stays");
	buf_str(&b, "0123456789a");
	cr_assert(b.over);
	cr_expect(!b.len);
	buf_fini(&b);
}

Test(memory, the_terminator_needs_room_too)
{
	struct buf b = buf_init(4);

	buf_str(&b, "abc");
	cr_assert(!strcmp(buf_cstr(&b), "abc"));
	cr_expect(b.len == 3);
	buf_byte(&b, 'd');
	cr_assert(!b.over);
	cr_expect(b.len == 4);
	cr_assert(!strcmp(buf_cstr(&b), ""));
	cr_expect(b.over);
	cr_assert(b.len == 4);
	cr_expect(!memcmp(b.ptr, "abcd", 4));
	buf_fini(&b);
}

/* The elements of a vector of one-digit numbers, as a text. */
static const char *digits_of(const int *v, size_t count)
{
	static char text[20];

	for (size_t i = 0; i < count; i++)
		text[i] = (char)('0' + v[i]);
	text[count] = 0;
	return text;
}

Test(memory, elements_are_inserted_and_removed_anywhere)
{
	VEC(int) none = { 0 };
	VEC(int) v = { 0 };

	vec_remove(&v, 0, 0);
	vec_add_all(&v, none.v, none.count);
	cr_assert(!v.count, "an empty vector has no array");
	cr_expect(!v.v, "an empty vector has no array");
	*vec_insert(&v, 0) = 5;
	*vec_insert(&v, 0) = 1;
	*vec_insert(&v, 1) = 3;
	*vec_insert(&v, 3) = 7;
	vec_add_all(&v, ((const int[]){ 8, 9 }), 2);
	cr_expect(!strcmp(digits_of(v.v, v.count), "135789"));
	vec_remove(&v, 1, 2);
	cr_expect(!strcmp(digits_of(v.v, v.count), "1789"));
	vec_remove(&v, 4, 0);
	vec_remove(&v, 3, 1);
	cr_expect(!strcmp(digits_of(v.v, v.count), "178"));
	vec_remove(&v, 0, 3);
	cr_expect(!v.count);
	vec_fini(&v);
}

Test(memory, empty_views_are_copied)
{
	struct arena a = { 0 };
	char to[4] = "abc";
	struct bytes copy = arena_bytes(&a, (struct bytes){ 0 });

	cr_expect(!copy.len);
	bytes_copy(to, (struct bytes){ 0 });
	cr_expect(!strcmp(to, "abc"));
	bytes_copy(to, bytes_of(str_of("xy")));
	cr_expect(!strcmp(to, "xyc"));
	copy = arena_bytes(&a, bytes_of(str_of("xy")));
	cr_assert(copy.len == 2);
	cr_expect(!memcmp(copy.ptr, "xy", 2));
	arena_fini(&a);
}

Test(memory, formatting_is_whole_or_not_at_all)
{
	struct buf b = buf_init(1000);
	struct buf tight = buf_init(300);

	buf_printf(&b, "%0255d", 1);
	cr_assert(b.len == 255);
	cr_expect(b.ptr[254] == '1');
	buf_printf(&b, "%0256d|", 2);
	cr_assert(b.len == 512);
	cr_expect(!memcmp(b.ptr + 510, "2|", 2));
	buf_printf(&b, "%s", "");
	cr_assert(b.len == 512);
	cr_expect(!b.over);
	buf_printf(&tight, "%0299d", 3);
	cr_assert(tight.len == 299);
	cr_expect(tight.ptr[298] == '3');
	buf_reset(&tight);
	buf_printf(&tight, "%0300d", 4);
	cr_assert(tight.over, "its NUL does not fit");
	cr_expect(!tight.len, "its NUL does not fit");
	buf_fini(&b);
	buf_fini(&tight);
}

Test(memory, the_next_capacity_is_what_an_append_takes)
{
	struct buf b = buf_init(5000);

	for (size_t n = 0; b.len + n <= 5000; n++) {
		uint8_t zeros[200] = { 0 };
		size_t next = buf_next_cap(&b, n);

		cr_assert(n < sizeof(zeros));
		buf_add(&b, zeros, n);
		cr_expect(b.cap == next, "%zu bytes more: %zu", n, next);
		cr_expect(b.cap <= 5000);
	}
	buf_fini(&b);
}

Test(memory, a_forgotten_buffer_is_empty)
{
	struct buf b = buf_init(100);

	buf_str(&b, "secret");
	buf_forget(&b);
	cr_assert(!b.ptr);
	cr_assert(!b.len);
	cr_expect(b.max == 100);
	buf_forget(&b);
	buf_str(&b, "again");
	cr_expect(check_str(str_from(buf_bytes(&b)), "again"));
	buf_fini(&b);
}
