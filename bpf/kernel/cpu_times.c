/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/kernel/cpu_times.h"

#include <unistd.h>

#include "base/file_slurp.h"

/*
 * The columns of the line "cpu" of /proc/stat, in their order. The later
 * columns, guest and guest_nice, are not needed: the columns user and nice
 * include them.
 */
enum {
	TIME_USER,
	TIME_NICE,
	TIME_SYSTEM,
	TIME_IDLE,
	TIME_IOWAIT,
	TIME_IRQ,
	TIME_SOFTIRQ,
	TIME_STEAL,
	TIMES,
};

enum {
	/*
	 * Largest size of /proc/stat in bytes. The file may be long: it has
	 * numbers for each CPU and each interrupt.
	 */
	STAT_MAX = 1 << 20,
};

bool cpu_times_parse(struct str text, int64_t ticks, struct cpu_times *out)
{
	int64_t ns = 1000000000 / ticks;
	int64_t times[TIMES];
	struct str rest;
	struct str line = str_cut(text, '\n', &rest);

	if (!str_is(str_cut(line, ' ', &rest), "cpu"))
		return false;
	rest = str_trim(rest);
	for (int i = 0; i < TIMES; i++) {
		if (!str_to_i64(str_cut(rest, ' ', &rest), &times[i]) ||
		    times[i] < 0 || times[i] > INT64_MAX / ns / TIMES)
			return false;
	}
	out->busy_ns =
		(times[TIME_USER] + times[TIME_NICE] + times[TIME_SYSTEM] +
		 times[TIME_IRQ] + times[TIME_SOFTIRQ]) *
		ns;
	out->stolen_ns = times[TIME_STEAL] * ns;
	return true;
}

bool cpu_times_read(struct cpu_times *out)
{
	struct buf text = { .max = STAT_MAX };
	bool good = !file_slurp("/proc/stat", &text, NULL) &&
		    cpu_times_parse(str_from(buf_bytes(&text)),
				    sysconf(_SC_CLK_TCK), out);

	buf_fini(&text);
	return good;
}
