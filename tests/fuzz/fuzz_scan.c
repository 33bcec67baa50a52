/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reading of bodies as a target may send them, from the container to
 * the scan and the type set.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "pprof/proto/unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unpacker *u = unpacker_new(1 << 20);
	struct unpacked *out = mem_new(struct unpacked);
	struct bytes body = { .ptr = data, .len = size };
	struct err err;

	if (!unpacker_run(u, body, out, &err)) {
		struct typeset *t = mem_new(struct typeset);

		/*
		 * A body that was accepted must have a type set that can be
		 * decoded.
		 */
		if (typeset_decode(out->typeset, t, &err) ||
		    t->count != out->scan.types.count)
			abort();
		mem_free(t);
	}
	unpacker_free(u);
	mem_free(out);
	return 0;
}
