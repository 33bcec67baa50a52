/* SPDX-License-Identifier: Apache-2.0 */
/* The list of those who have pushed profiles. */
#include "push/receive/push_senders.h"

#include <stdio.h>

#include "base/buf.h"
#include "tests/check.h"

static struct push_sender_key key_of(const char *service)
{
	return (struct push_sender_key){ .protocol = "ingest",
					 .service = str_of(service),
					 .agent = str_of("sdk/1"),
					 .address = str_of("10.0.0.7") };
}

/* Write a row as a line. */
static void list_row(void *arg, const struct push_sender *row)
{
	buf_printf(arg, "%s %s %s %d/%d/%d/%d %d %d:%s\n", row->service,
		   row->agent, row->address, (int)row->counts[PUSH_STORED],
		   (int)row->counts[PUSH_DROPPED],
		   (int)row->counts[PUSH_REFUSED],
		   (int)row->counts[PUSH_DELAYED], (int)row->last_ms,
		   (int)row->why_ms, row->why);
}

static void expect_list(struct push_senders *s, const char *want)
{
	struct buf text = { 0 };

	push_senders_each(s, list_row, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)), want));
	buf_fini(&text);
}

Test(push_senders, a_row_counts_what_became_of_profiles)
{
	struct push_senders *s = push_senders_new();
	struct push_sender_key shop = key_of("shop");
	struct push_sender_key cart = key_of("cart");

	expect_list(s, "");
	push_senders_note(s, &shop, PUSH_STORED, NULL, 1);
	push_senders_note(s, &shop, PUSH_REFUSED, "no profile", 2);
	push_senders_note(s, &cart, PUSH_DROPPED, "by a rule", 3);
	shop.address = str_of("10.0.0.8");
	push_senders_note(s, &shop, PUSH_STORED, NULL, 4);
	push_senders_note(s, &cart, PUSH_DELAYED, "no space", 5);
	expect_list(s, "cart sdk/1 10.0.0.7 0/1/0/1 5 5:no space\n"
		       "shop sdk/1 10.0.0.8 2/0/1/0 4 2:no profile\n");
	push_senders_free(s);
}

Test(push_senders, client_user_and_protocol_tell_rows_apart)
{
	struct push_senders *s = push_senders_new();
	struct push_sender_key k = key_of("shop");
	struct buf text = { 0 };

	push_senders_note(s, &k, PUSH_STORED, NULL, 1);
	k.agent = str_of("sdk/2");
	push_senders_note(s, &k, PUSH_STORED, NULL, 2);
	k.user = str_of("ann");
	push_senders_note(s, &k, PUSH_STORED, NULL, 3);
	k.protocol = "push";
	push_senders_note(s, &k, PUSH_STORED, NULL, 4);
	push_senders_each(s, list_row, &text);
	cr_expect(str_count(str_from(buf_bytes(&text)), '\n') == 4);
	buf_fini(&text);
	push_senders_free(s);
}

/* Strangers have a list of their own, in which they replace each other. */
Test(push_senders, strangers_push_nobody_out)
{
	struct push_senders *s = push_senders_new();
	struct push_sender_key shop = key_of("shop");
	struct buf text = { 0 };
	char agent[20];

	push_senders_note(s, &shop, PUSH_STORED, NULL, 1);
	for (int i = 0; i < 1000; i++) {
		struct push_sender_key k = key_of("");

		snprintf(agent, sizeof(agent), "bot/%d", i);
		k.agent = str_of(agent);
		push_senders_note_stranger(s, &k, "no password", 2 + i);
	}
	push_senders_each(s, list_row, &text);
	cr_expect(str_count(str_from(buf_bytes(&text)), '\n') ==
		  1 + STRANGERS_MAX);
	cr_expect(strstr(buf_cstr(&text), "shop "));
	cr_expect(strstr(buf_cstr(&text), "bot/999 "));
	cr_expect(!strstr(buf_cstr(&text), "bot/967 "));
	buf_fini(&text);
	push_senders_free(s);
}

Test(push_senders, a_new_row_replaces_the_one_heard_of_longest_ago)
{
	struct push_senders *s = push_senders_new();
	struct buf text = { 0 };
	char service[20];

	for (int i = 0; i <= SENDERS_MAX; i++) {
		struct push_sender_key k;

		snprintf(service, sizeof(service), "s%d", i);
		k = key_of(service);
		push_senders_note(s, &k, PUSH_STORED, NULL, i == 0 ? 5000 : i);
	}
	push_senders_each(s, list_row, &text);
	cr_expect(str_count(str_from(buf_bytes(&text)), '\n') == SENDERS_MAX);
	cr_expect(strstr(buf_cstr(&text), "s0 "), "heard of lately");
	cr_expect(!strstr(buf_cstr(&text), "\ns1 "));
	buf_fini(&text);
	push_senders_free(s);
}

Test(push_senders, long_texts_are_cut)
{
	struct push_senders *s = push_senders_new();
	struct push_sender_key k = key_of("shop");
	struct buf name = { 0 };
	struct buf text = { 0 };

	for (int i = 0; i < 1000; i++)
		buf_byte(&name, 'x');
	k.service = str_from(buf_bytes(&name));
	push_senders_note(s, &k, PUSH_REFUSED, buf_cstr(&name), 1);
	push_senders_note(s, &k, PUSH_REFUSED, buf_cstr(&name), 2);
	push_senders_each(s, list_row, &text);
	cr_expect(str_count(str_from(buf_bytes(&text)), '\n') == 1);
	cr_expect(text.len < SENDER_TEXT_MAX + SENDER_WHY_MAX + 60);
	buf_fini(&name);
	buf_fini(&text);
	push_senders_free(s);
}

/* Else each of its profiles would be another row. */
Test(push_senders, a_name_with_a_nul_has_one_row)
{
	struct push_senders *s = push_senders_new();
	struct push_sender_key k = key_of("shop");

	k.service = (struct str){ "nul\0x", 5 };
	push_senders_note(s, &k, PUSH_STORED, NULL, 1);
	push_senders_note(s, &k, PUSH_STORED, NULL, 2);
	expect_list(s, "nul sdk/1 10.0.0.7 2/0/0/0 2 0:\n");
	push_senders_free(s);
}
