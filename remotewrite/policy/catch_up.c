/* SPDX-License-Identifier: Apache-2.0 */
#include "remotewrite/policy/catch_up.h"

/* Stored requests take more traffic: they must be faster by this factor. */
#define GAIN_MIN 1.1

/* Begins to measure one of the two ways. */
static void catch_up_begin(struct catch_up *c, bool stored, int64_t now_ns)
{
	c->stored = stored;
	c->began_ns = now_ns;
	c->bytes = 0;
	c->requests = 0;
}

bool catch_up_measure(struct catch_up *c, uint64_t backlog, uint64_t begin,
		      int64_t now_ns)
{
	bool was = c->active;

	if (begin && backlog > begin)
		c->active = true;
	else if (backlog <= begin / CATCH_UP_SHRUNK)
		c->active = false;
	if (c->active && !was) {
		c->rates[false] = 0;
		c->rates[true] = 0;
		c->since_probe = 0;
		catch_up_begin(c, true, now_ns);
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
	int64_t span = now_ns - c->began_ns;

	if (!c->active || stored != c->stored)
		return;
	c->bytes += bytes;
	c->requests++;
	if (span < CATCH_UP_SPAN_NS || c->requests < CATCH_UP_REQUESTS)
		return;
	c->rates[stored] = (double)c->bytes * 1e9 / (double)span;
	catch_up_begin(c, catch_up_choose(c), now_ns);
}
