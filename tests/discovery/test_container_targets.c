/* SPDX-License-Identifier: Apache-2.0 */
/* Containers among targets, and answers of the Container Runtime Interface. */
#include "base/mem.h"
#include "discovery/container_targets.h"
#include "discovery/core/group_builder.h"
#include "discovery/cri/cri_answer.h"
#include "tests/check.h"

TestSuite(container_targets, .timeout = 60);

/* A container_fn: writes the ID and the labels. */
static bool write_container(void *ctx, struct str id,
			    const struct label *labels, size_t count)
{
	struct buf *out = ctx;

	buf_printf(out, "%.*s:", STR_ARG(id));
	for (size_t i = 0; i < count; i++)
		buf_printf(out, " %.*s=%.*s", STR_ARG(labels[i].name),
			   STR_ARG(labels[i].value));
	buf_str(out, "\n");
	return true;
}

/* Checks what is found in the groups of a builder, and frees them. */
static void check_containers(struct group_builder *b, const char *want)
{
	struct target_groups_list all = { 0 };
	struct buf text = { 0 };

	cr_assert(!group_builder_take(b, vec_add(&all), NULL));
	container_targets_visit(&all, write_container, &text);
	cr_expect(check_str(str_from(buf_bytes(&text)), want));
	buf_fini(&text);
	target_groups_list_fini(&all);
	group_builder_fini(b);
}

Test(container_targets, each_kind_has_its_label)
{
	struct group_builder b;

	group_builder_init(&b);
	group_begin(&b);
	group_label(&b, "__meta_kubernetes_namespace", str_of("shop"));
	group_label(&b, "team", str_of("red"));
	group_target(&b);
	group_address(&b, str_of("10.0.0.1"), 80);
	group_label(&b, "__meta_kubernetes_pod_container_id",
		    str_of("containerd://abc"));
	group_label(&b, "__meta_kubernetes_pod_container_port_number",
		    str_of("80"));
	group_target(&b);
	group_address(&b, str_of("10.0.0.2"), 80);
	group_label(&b, "__meta_docker_container_id", str_of("def"));
	group_label(&b, "__meta_docker_port_public", str_of("80"));
	group_target(&b);
	group_address(&b, str_of("10.0.0.3"), 80);
	check_containers(
		&b, "abc: __meta_kubernetes_pod_container_id=containerd://abc "
		    "__meta_kubernetes_namespace=shop\n"
		    "def: __meta_docker_container_id=def "
		    "__meta_kubernetes_namespace=shop\n");
}

/* Appends a field with bytes, whose length is below 128. */
static void add_bytes(struct buf *out, uint8_t number, struct bytes b)
{
	buf_byte(out, (uint8_t)(number << 3 | 2));
	buf_byte(out, (uint8_t)b.len);
	buf_add(out, b.ptr, b.len);
}

static void add_string(struct buf *out, uint8_t number, const char *text)
{
	add_bytes(out, number, bytes_of(str_of(text)));
}

/* Appends a field with a message, and empties the message. */
static void add_message(struct buf *out, uint8_t number, struct buf *message)
{
	add_bytes(out, number, buf_bytes(message));
	buf_reset(message);
}

/* Writes a list with one pod. */
static void write_pod(struct buf *out)
{
	struct buf inner = { 0 };
	struct buf item = { 0 };

	add_string(&item, 1, "p1");
	add_string(&inner, 1, "web-1");
	add_string(&inner, 2, "uid-1");
	add_string(&inner, 3, "shop");
	add_message(&item, 2, &inner);
	add_string(&inner, 1, "app.kubernetes.io/name");
	add_string(&inner, 2, "web");
	add_message(&item, 5, &inner);
	add_message(out, 1, &item);
	buf_fini(&inner);
	buf_fini(&item);
}

/* Adds a container of a pod to a list. */
static void write_container_of(struct buf *out, const char *id, const char *pod)
{
	struct buf inner = { 0 };
	struct buf item = { 0 };

	add_string(&item, 1, id);
	add_string(&item, 2, pod);
	add_string(&inner, 1, "main");
	add_message(&item, 3, &inner);
	add_string(&inner, 1, "nginx:1");
	add_message(&item, 4, &inner);
	add_message(out, 1, &item);
	buf_fini(&inner);
	buf_fini(&item);
}

Test(container_targets, answers_of_a_runtime_become_containers)
{
	struct group_builder b;
	struct buf containers = { 0 };
	struct buf pods = { 0 };

	write_pod(&pods);
	write_container_of(&containers, "c1", "p1");
	write_container_of(&containers, "c2", "gone");
	group_builder_init(&b);
	cr_expect(!cri_answer_map(buf_bytes(&pods), buf_bytes(&containers), &b,
				  NULL));
	check_containers(
		&b, "c1: __meta_cri_container_id=c1 "
		    "__meta_cri_container_name=main "
		    "__meta_cri_container_image=nginx:1 __meta_cri_pod_id=p1 "
		    "__meta_cri_pod_name=web-1 __meta_cri_pod_uid=uid-1 "
		    "__meta_cri_pod_namespace=shop "
		    "__meta_cri_pod_label_app_kubernetes_io_name=web\n"
		    "c2: __meta_cri_container_id=c2 "
		    "__meta_cri_container_name=main "
		    "__meta_cri_container_image=nginx:1\n");
	/* Each beginning of an answer is another list, or none at all. */
	for (size_t i = 0; i < containers.len; i++) {
		struct bytes part = { containers.ptr, i };
		int rc;

		group_builder_init(&b);
		rc = cri_answer_map(buf_bytes(&pods), part, &b, NULL);
		cr_expect(!rc || rc == ERR_CORRUPT);
		group_builder_fini(&b);
		group_builder_init(&b);
		rc = cri_answer_map(part, buf_bytes(&containers), &b, NULL);
		cr_expect(!rc || rc == ERR_CORRUPT);
		group_builder_fini(&b);
	}
	group_builder_init(&b);
	cr_expect(cri_answer_map(buf_bytes(&pods),
				 (struct bytes){ containers.ptr, 5 }, &b,
				 NULL) == ERR_CORRUPT);
	group_builder_fini(&b);
	buf_fini(&containers);
	buf_fini(&pods);
}

Test(container_targets, ends_of_calls)
{
	static const struct {
		long status;
		const char *headers;
		const char *body;
		size_t len;
		int rc;
	} cases[] = {
		{ 200, "grpc-status: 0\r\n", "\0\0\0\0\2ab", 7, 0 },
		{ 200, "", "\0\0\0\0\0", 5, 0 },
		{ 200, "grpc-status: 12\r\ngrpc-message: no\r\n", "", 0,
		  ERR_INVALID },
		{ 404, "", "", 0, ERR_INVALID },
		{ 200, "", "\0\0\0\0", 4, ERR_CORRUPT },
		{ 200, "", "\1\0\0\0\0", 5, ERR_CORRUPT },
		{ 200, "", "\0\0\0\0\3ab", 7, ERR_CORRUPT },
		{ 200, "", "\0\377\377\377\377ab", 7, ERR_CORRUPT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_response r = { .status = cases[i].status };
		struct bytes message;

		buf_str(&r.headers, cases[i].headers);
		buf_add(&r.body, cases[i].body, cases[i].len);
		cr_expect(cri_answer_check(&r, &message, NULL) == cases[i].rc,
			  "case %zu", i);
		buf_fini(&r.headers);
		buf_fini(&r.body);
	}
}
