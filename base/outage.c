/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outage.h"

#include "base/clock.h"

int outage_note(struct outage *o, int rc, int64_t limit_ms, struct err *err)
{
	int64_t now_ns = clock_mono_ns();
	int64_t limit = limit_ms ? limit_ms : OUTAGE_MS;

	if (rc != ERR_IO)
		return rc;
	if (!o->since_ns)
		o->since_ns = now_ns;
	if (limit < 0 || now_ns - o->since_ns >= limit * 1000000)
		return rc;
	if (err)
		err->code = ERR_AGAIN;
	return ERR_AGAIN;
}

void outage_end(struct outage *o)
{
	o->since_ns = 0;
}
