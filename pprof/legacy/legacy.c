/* SPDX-License-Identifier: Apache-2.0 */
#include "pprof/legacy/legacy.h"

#include <math.h>
#include <stdlib.h>

#include "pprof/legacy/legacy_parser.h"
#include "pprof/profile/measure.h"

struct legacy *legacy_new(size_t max)
{
	struct legacy *l = mem_new(struct legacy);

	l->max = max;
	return l;
}

void legacy_free(struct legacy *l)
{
	if (!l)
		return;
	pprof_fini(&l->p);
	table_fini(&l->places);
	for (size_t i = 0; i < RX_COUNT_OF; i++)
		regex_free(l->regexes[i]);
	vec_fini(&l->addresses);
	mem_free(l);
}

size_t legacy_memory(const struct legacy *l)
{
	return sizeof(*l) + pprof_memory(&l->p) + table_memory(&l->places) +
	       vec_memory(&l->addresses);
}

void legacy_set_max(struct legacy *l, size_t max)
{
	l->max = max;
}

/* Reading lines and numbers. */

/* Building the profile. */

/*
 * Regular expressions for drop_frames and keep_frames. They match functions
 * that are not of interest in a profile: the functions of the allocator, of
 * locks, and of the profiler itself. The lists are pprof's.
 */

static const char allocators[] =
	"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|"
	"pvalloc|valloc|realloc|tcmalloc::.*|tc_calloc|tc_cfree|tc_malloc|"
	"tc_free|tc_memalign|tc_posix_memalign|tc_pvalloc|tc_valloc|"
	"tc_realloc|tc_new|tc_delete|tc_newarray|tc_deletearray|"
	"tc_new_nothrow|tc_newarray_nothrow|malloc_zone_malloc|"
	"malloc_zone_calloc|malloc_zone_valloc|malloc_zone_realloc|"
	"malloc_zone_memalign|malloc_zone_free|runtime\\..*|BaseArena::.*|"
	"(::)?do_malloc_no_errno|(::)?do_malloc_pages|(::)?do_malloc|"
	"DoSampledAllocation|MallocedMemBlock::MallocedMemBlock|_M_allocate|"
	"__builtin_(vec_)?delete|__builtin_(vec_)?new|"
	"__gnu_cxx::new_allocator::allocate|__libc_malloc|"
	"__malloc_alloc_template::allocate|allocate|cpp_alloc|"
	"operator new(\\[\\])?|simple_alloc::allocate";
static const char not_allocators[] =
	"runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*";
static const char profilers[] =
	"ProfileData::Add|ProfileData::prof_handler|"
	"CpuProfiler::prof_handler|__pthread_sighandler|__restore";
static const char locks[] =
	"RecordLockProfileData|(base::)?RecordLockProfileData.*|"
	"(base::)?SubmitMutexProfileData.*|"
	"(base::)?SubmitSpinLockProfileData.*|(base::Mutex::)?AwaitCommon.*|"
	"(base::Mutex::)?Unlock.*|(base::Mutex::)?UnlockSlow.*|"
	"(base::Mutex::)?ReaderUnlock.*|(base::MutexLock::)?~MutexLock.*|"
	"(Mutex::)?AwaitCommon.*|(Mutex::)?Unlock.*|(Mutex::)?UnlockSlow.*|"
	"(Mutex::)?ReaderUnlock.*|(MutexLock::)?~MutexLock.*|"
	"(SpinLock::)?Unlock.*|(SpinLock::)?SlowUnlock.*|"
	"(SpinLockHolder::)?~SpinLockHolder.*";

/* Return whether the profile's last sample type has this name. */
static bool last_type_is(const struct pprof *p, const char *type)
{
	return p->types.count &&
	       str_is(pprof_str(p, p->types.v[p->types.count - 1].type), type);
}

/*
 * Legacy formats do not have drop_frames and keep_frames, so pprof sets both
 * when it reads a legacy profile, depending on the last sample type.
 */
static void add_frame_info(struct pprof *p)
{
	const char *drop = profilers;
	const char *keep = "";

	if (last_type_is(p, "space") || last_type_is(p, "inuse_space")) {
		drop = allocators;
		keep = not_allocators;
	} else if (last_type_is(p, "delay")) {
		drop = locks;
	}
	p->drop_frames = strtab_intern(&p->strings, str_of(drop));
	p->keep_frames = strtab_intern(&p->strings, str_of(keep));
}

/*
 * Prepare the parser for the input `raw`. The previous profile is freed and
 * not only reset, because pprof_reset() would leave its interned strings in
 * memory.
 */
static void legacy_reset(struct legacy *l, struct bytes raw)
{
	pprof_fini(&l->p);
	pprof_reset(&l->p);
	table_fini(&l->places);
	l->addresses.count = 0;
	(void)strtab_intern(&l->p.strings, str_of(""));
	l->raw = raw;
	l->rest = str_from(raw);
	l->line = str_of("");
	l->over = false;
	l->why = NULL;
}

int legacy_parse(struct legacy *l, struct bytes raw, struct pprof **out,
		 struct err *err)
{
	static int (*const parsers[])(struct legacy *) = {
		legacy_cpu,    legacy_heap,       legacy_jemalloc, legacy_count,
		legacy_thread, legacy_contention, legacy_java,
	};
	int rc = ERR_UNSUPPORTED;

	for (size_t i = 0; i < ARRAY_SIZE(parsers) && rc == ERR_UNSUPPORTED;
	     i++) {
		legacy_reset(l, raw);
		rc = parsers[i](l);
		/* After a limit was hit, no further parser must be tried. */
		if (l->over && rc == ERR_UNSUPPORTED)
			rc = ERR_INVALID;
	}
	/* At a limit, legacy_maps() sets l->over but returns 0. */
	if (!rc && l->over)
		rc = ERR_INVALID;
	if (rc && l->over && legacy_memory(l) > l->max)
		rc = ERR_LIMIT;
	if (!rc) {
		add_frame_info(&l->p);
		*out = &l->p;
		return 0;
	}
	return err_set(err, rc,
		       l->over ? "cannot decode the profile: %s" :
				 "not a profile: %s",
		       l->why ? l->why : "malformed data in a legacy format");
}
