/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/send/catch_up.h"

/* Stored requests take more traffic: they must be faster by this factor. */
#define GAIN_MIN 1.1

/* Begin to measure one of the two ways. */
static void catch_up_begin(struct catch_up *c, bool stored)
{
	c->stored = stored;
	c->last_ns = 0;
	c->span_ns = 0;
	c->bytes = 0;
	c->requests = 0;
}

/* The size of the backlog at which catching up ends. */
static uint64_t catch_up_end(uint64_t begin)
{
	uint64_t end = begin / CATCH_UP_SHRUNK;

	if (end >= CATCH_UP_FLOOR)
		return end;
	return begin / 2 < CATCH_UP_FLOOR ? begin / 2 : CATCH_UP_FLOOR;
}

bool catch_up_measure(struct catch_up *c, uint64_t backlog, uint64_t begin)
{
	bool was = c->active;

	if (begin && backlog > begin)
		c->active = true;
	else if (backlog <= catch_up_end(begin))
		c->active = false;
	if (c->active && !was) {
		*c = (struct catch_up){ .active = true };
		catch_up_begin(c, true);
	}
	return c->active != was;
}

bool catch_up_is_stored(const struct catch_up *c)
{
	return c->active && !c->refused && c->stored;
}

/* The way to use after a measurement. */
static bool catch_up_choose(struct catch_up *c)
{
	if (c->stored && c->rates[true] >= CATCH_UP_FAST)
		return true;
	if (c->rates[!c->stored] <= 0 || ++c->since_probe >= CATCH_UP_PROBE) {
		c->since_probe = 0;
		return !c->stored;
	}
	return c->rates[true] > GAIN_MIN * c->rates[false];
}

void catch_up_note(struct catch_up *c, bool stored, uint64_t bytes,
		   int64_t now_ns)
{
	int64_t gap = now_ns - c->last_ns;

	if (!c->active || stored != c->stored)
		return;
	if (c->last_ns) {
		c->span_ns += gap < CATCH_UP_GAP_NS ? gap : CATCH_UP_GAP_NS;
		c->bytes += bytes;
		c->requests++;
	}
	c->last_ns = now_ns;
	if (c->span_ns < CATCH_UP_SPAN_NS || c->requests < CATCH_UP_REQUESTS)
		return;
	c->rates[stored] = (double)c->bytes * 1e9 / (double)c->span_ns;
	if (stored)
		c->failures = 0;
	catch_up_begin(c, catch_up_choose(c));
}

void catch_up_fail(struct catch_up *c)
{
	unsigned wait = CATCH_UP_PROBE;

	/* Requests that were sent at the same time fail together. */
	if (!catch_up_is_stored(c))
		return;
	if (c->failures < 4)
		wait = 1U << c->failures++;
	/* Slower than any other rate. */
	c->rates[true] = 1;
	c->since_probe = CATCH_UP_PROBE - wait;
	catch_up_begin(c, false);
}

void catch_up_refuse(struct catch_up *c)
{
	c->refused = true;
}
