/* SPDX-License-Identifier: Apache-2.0 */
#include "client/transfer/transfer_list.h"

#include "base/hash.h"

/* Return the head of the list that has the transfers of a context. */
static struct transfer **list_head(struct http_client *c, const void *ctx)
{
	struct bytes key = { (const uint8_t *)&ctx, sizeof(ctx) };

	return &c->by_ctx[hash_key(key) % TRANSFER_LISTS];
}

void transfer_list_add(struct transfer *t)
{
	struct http_client *c = t->client;
	struct transfer **head = list_head(c, t->ctx);

	t->next = c->transfers;
	if (t->next)
		t->next->prev = t;
	c->transfers = t;
	t->list_next = *head;
	if (t->list_next)
		t->list_next->list_prev = t;
	*head = t;
	c->running++;
}

void transfer_list_remove(struct transfer *t)
{
	struct http_client *c = t->client;

	if (t->prev)
		t->prev->next = t->next;
	else
		c->transfers = t->next;
	if (t->next)
		t->next->prev = t->prev;
	if (t->list_prev)
		t->list_prev->list_next = t->list_next;
	else
		*list_head(c, t->ctx) = t->list_next;
	if (t->list_next)
		t->list_next->list_prev = t->list_prev;
	c->running--;
}

void transfer_list_visit(struct http_client *c, const void *ctx,
			 void (*fn)(struct transfer *t))
{
	struct transfer *t = ctx ? *list_head(c, ctx) : c->transfers;

	while (t) {
		struct transfer *next = ctx ? t->list_next : t->next;

		if (!ctx || t->ctx == ctx)
			fn(t);
		t = next;
	}
}
