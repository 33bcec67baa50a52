/* SPDX-License-Identifier: Apache-2.0 */
#include "query/history/buckets.h"

#include <math.h>

#include "base/mem.h"

void buckets_note(struct buckets *b, int64_t total)
{
	if (total <= 0)
		return;
	if (!b->least || total < b->least)
		b->least = total;
	if (total > b->greatest)
		b->greatest = total;
}

/*
 * The nearest number of few digits in the unit that suits it: "1.2 MB" has two
 * digits, and is 1258291 bytes. Of other units, the steps are powers of 1000.
 */
static double bucket_round(double v, int digits, bool is_bytes)
{
	double step = is_bytes ? 1024 : 1000;
	double unit = 1;
	double power;

	while (v >= unit * step)
		unit *= step;
	power = pow(10, digits - 1 - floor(log10(v / unit)));
	return round(v / unit * power) / power * unit;
}

/*
 * The bound between two buckets, of which one is `ratio` times as large as the
 * other: near `v`, with as few digits as that allows.
 */
static double bucket_bound(double v, double ratio, bool is_bytes)
{
	double most = (ratio - 1) * v / 4;

	for (int digits = 1; digits < 6; digits++) {
		double r = bucket_round(v, digits, is_bytes);

		if (fabs(r - v) <= most)
			return r;
	}
	return v;
}

void buckets_begin(struct buckets *b, size_t n, size_t steps, bool is_bytes)
{
	double ratio;

	if (!b->least)
		return;
	ratio = (double)b->greatest / (double)b->least;
	b->n = n;
	b->steps = steps;
	/*
	 * pow() is inexact, so the first and the last bound are set directly.
	 */
	b->bounds[0] = b->least;
	b->bounds[n] = b->greatest;
	for (size_t i = 1; i < n; i++) {
		double v = bucket_bound(
			(double)b->least * pow(ratio, (double)i / (double)n),
			pow(ratio, 1 / (double)n), is_bytes);

		b->bounds[i] = v < (double)b->greatest ? llround(v) :
							 b->greatest;
	}
	b->counts = mem_zalloc(n * steps, sizeof(*b->counts));
}

void buckets_count(struct buckets *b, size_t step, int64_t total)
{
	size_t i = b->n;

	if (!b->counts)
		return;
	while (i > 1 && total < b->bounds[i - 1])
		i--;
	b->counts[step * b->n + i - 1]++;
}

void buckets_json(const struct buckets *b, struct json *j)
{
	json_begin(j, '{');
	json_key(j, "bounds");
	json_begin(j, '[');
	for (size_t i = 0; b->counts && i <= b->n; i++)
		json_int(j, b->bounds[i]);
	json_end(j, ']');
	json_key(j, "counts");
	json_begin(j, '[');
	for (size_t step = 0; b->counts && step < b->steps; step++) {
		json_begin(j, '[');
		for (size_t i = 0; i < b->n; i++)
			json_int(j, b->counts[step * b->n + i]);
		json_end(j, ']');
	}
	json_end(j, ']');
	json_end(j, '}');
}

void buckets_fini(struct buckets *b)
{
	mem_free(b->counts);
	*b = (struct buckets){ 0 };
}
