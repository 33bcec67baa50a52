/* SPDX-License-Identifier: Apache-2.0 */
#include "model/types.h"

#include "base/dec.h"
#include "base/enc.h"

static void value_type_encode(const struct value_type *v, struct buf *out)
{
	enc_str(out, v->type);
	enc_str(out, v->unit);
}

static struct value_type value_type_decode(struct dec *d)
{
	struct value_type v;

	v.type = dec_str(d);
	v.unit = dec_str(d);
	return v;
}

void typeset_encode(const struct typeset *t, struct buf *out)
{
	enc_uvarint(out, t->count);
	for (size_t i = 0; i < t->count; i++)
		value_type_encode(&t->types[i], out);
	enc_str(out, t->default_type);
	value_type_encode(&t->period, out);
}

int typeset_decode(struct bytes encoded, struct typeset *out, struct err *err)
{
	struct dec d = dec_init(encoded);

	out->count = dec_count(&d, TYPES_MAX);
	for (size_t i = 0; i < out->count; i++)
		out->types[i] = value_type_decode(&d);
	out->default_type = dec_str(&d);
	out->period = value_type_decode(&d);
	if (d.bad || dec_left(&d))
		return err_set(err, ERR_CORRUPT, "type set is cut short");
	return 0;
}

size_t typeset_count(struct bytes encoded)
{
	struct dec d = dec_init(encoded);

	return (size_t)dec_count(&d, TYPES_MAX);
}
