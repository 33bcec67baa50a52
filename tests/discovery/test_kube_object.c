/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels and targets of the objects of Kubernetes, as its API sends them.
 * What is expected follows Prometheus' documentation of kubernetes_sd_config.
 */
#include "base/yaml_json.h"
#include "discovery/kubeobject/kube_meta.h"
#include "discovery/kubernetes/kube_parts.h"
#include "tests/discovery/fake_provider.h"

TestSuite(kube_object, .timeout = 60);

/* Map an object; returns its groups. */
static struct target_groups *map(void (*fn)(struct group_builder *b,
					    const struct yaml_node *object),
				 const char *json)
{
	struct target_groups *g;
	struct group_builder b;
	struct yaml y;

	yaml_parse_json(&y, "test", bytes_of(str_of(json)));
	cr_assert(y.root, "%s", json);
	group_builder_init(&b);
	group_begin(&b);
	fn(&b, y.root);
	cr_assert(!group_builder_take(&b, &g, NULL));
	group_builder_fini(&b);
	yaml_fini(&y);
	return g;
}

/* Return whether an object has these targets: a line for each. */
static bool maps_to(void (*fn)(struct group_builder *b,
			       const struct yaml_node *object),
		    const char *json, const char *want)
{
	struct target_groups *g = map(fn, json);
	struct buf text = { 0 };
	bool equal;

	fake_provider_write(&text, g);
	equal = check_str(str_from(buf_bytes(&text)), want);
	buf_fini(&text);
	target_groups_unref(g);
	return equal;
}

#define M "__meta_kubernetes_"

Test(kube_object, a_pod_is_a_target_for_each_port_of_its_containers)
{
	cr_expect(maps_to(
		kube_map_pod,
		"{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":"
		"\"u\",\"labels\":{\"a.b\":\"c\"},\"ownerReferences\":["
		"{\"kind\":\"X\",\"name\":\"x\"},{\"controller\":true,"
		"\"kind\":\"Job\",\"name\":\"j\"}]},"
		"\"spec\":{\"nodeName\":\"h\",\"containers\":[{\"name\":\"c1\","
		"\"image\":\"i\",\"ports\":[{\"name\":\"w\",\"containerPort\":"
		"80,\"protocol\":\"TCP\"}]},{\"name\":\"c2\"}],"
		"\"initContainers\":[{\"name\":\"c3\"}]},"
		"\"status\":{\"podIP\":\"10.0.0.1\",\"phase\":\"Running\","
		"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
		"\"containerStatuses\":[{\"name\":\"c1\",\"containerID\":"
		"\"docker://1\"}]}}",
#define OWN                                                                \
	" " M "namespace=n " M "pod_ip=10.0.0.1 " M "pod_phase=Running " M \
	"pod_node_name=h " M "pod_uid=u " M "pod_ready=true " M            \
	"pod_controller_kind=Job " M "pod_controller_name=j " M            \
	"pod_name=p " M "pod_label_a_b=c " M "pod_labelpresent_a_b=true"
		"> __address__=10.0.0.1:80 " M "pod_container_name=c1 " M
		"pod_container_image=i " M "pod_container_init=false " M
		"pod_container_port_name=w " M "pod_container_port_number=80 " M
		"pod_container_port_protocol=TCP " M
		"pod_container_id=docker://1" OWN "\n"
		"> __address__=10.0.0.1 " M "pod_container_name=c2 " M
		"pod_container_init=false" OWN "\n"
		"> __address__=10.0.0.1 " M "pod_container_name=c3 " M
		"pod_container_init=true" OWN));
	/* A pod without an address is no target yet. */
	cr_expect(maps_to(kube_map_pod,
			  "{\"metadata\":{\"name\":\"p\"},\"spec\":"
			  "{\"containers\":[{\"name\":\"c\"}]}}",
			  ""));
}

Test(kube_object, a_node_is_reached_by_its_best_address)
{
#define NODE(addresses)                                               \
	"{\"metadata\":{\"name\":\"n\"},\"spec\":{\"providerID\":"    \
	"\"q\"},\"status\":{\"addresses\":" addresses                 \
	",\"daemonEndpoints\":{\"kubeletEndpoint\":{\"Port\":10250}}" \
	",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"
#define NODE_OWN                                       \
	" " M "node_name=n " M "node_provider_id=q " M \
	"node_condition_ready=true"
	cr_expect(
		maps_to(kube_map_node,
			NODE("[{\"type\":\"Hostname\",\"address\":\"h\"},{\"type\":"
			     "\"InternalIP\",\"address\":\"10.0.0.1\"},{\"type\":"
			     "\"InternalIP\",\"address\":\"fd::1\"}]"),
			"> __address__=10.0.0.1:10250 instance=n " M
			"node_address_Hostname=h " M
			"node_address_InternalIP=10.0.0.1 " M
			"node_address_InternalIP=fd::1" NODE_OWN),
		"of labels with one name, the first counts");
	cr_expect(maps_to(kube_map_node,
			  NODE("[{\"type\":\"Hostname\",\"address\":\"h\"}]"),
			  "> __address__=h:10250 instance=n " M
			  "node_address_Hostname=h" NODE_OWN));
	cr_expect(maps_to(kube_map_node, NODE("[]"), ""));
}

Test(kube_object, a_service_is_a_target_for_each_port)
{
	cr_expect(maps_to(
		kube_map_service,
		"{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},\"spec\":{"
		"\"type\":\"LoadBalancer\",\"clusterIP\":\"10.1.1.1\","
		"\"ports\":[{\"name\":\"w\",\"port\":80,\"protocol\":\"TCP\"}]}"
		",\"status\":{\"loadBalancer\":{\"ingress\":[{\"ip\":\"1.1.1.1\""
		"},{\"hostname\":\"h\"},{\"ip\":\"2.2.2.2\"}]}}}",
		"> __address__=s.n.svc:80 " M "service_port_name=w " M
		"service_port_number=80 " M "service_port_protocol=TCP " M
		"service_type=LoadBalancer " M "service_cluster_ip=10.1.1.1 " M
		"service_loadbalancer_ip=1.1.1.1,2.2.2.2 " M "namespace=n " M
		"service_name=s"));
	cr_expect(maps_to(
		kube_map_service,
		"{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"},\"spec\":{"
		"\"type\":\"ExternalName\",\"externalName\":\"x.y\","
		"\"ports\":[{\"port\":1}]}}",
		"> __address__=s.n.svc:1 " M "service_port_number=1 " M
		"service_type=ExternalName " M "service_external_name=x.y " M
		"namespace=n " M "service_name=s"));
}

Test(kube_object, endpoints_are_addresses_times_ports)
{
	cr_expect(maps_to(
		kube_map_endpoints,
		"{\"metadata\":{\"name\":\"e\",\"namespace\":\"n\"},"
		"\"subsets\":[{\"addresses\":[{\"ip\":\"10.0.0.1\",\"nodeName\":"
		"\"h\",\"targetRef\":{\"kind\":\"Pod\",\"name\":\"p\"}}],"
		"\"notReadyAddresses\":[{\"ip\":\"10.0.0.2\",\"hostname\":"
		"\"x\"}],\"ports\":[{\"name\":\"w\",\"port\":80,\"protocol\":"
		"\"TCP\"}]}]}",
#define E_OWN " " M "namespace=n " M "endpoints_name=e"
		"> __address__=10.0.0.1:80 " M "endpoint_port_name=w " M
		"endpoint_port_protocol=TCP " M "endpoint_ready=true " M
		"endpoint_address_target_kind=Pod " M
		"endpoint_address_target_name=p " M "endpoint_node_name=h" E_OWN
		"\n"
		"> __address__=10.0.0.2:80 " M "endpoint_port_name=w " M
		"endpoint_port_protocol=TCP " M "endpoint_ready=false " M
		"endpoint_hostname=x" E_OWN));
}

Test(kube_object, a_slice_has_endpoints_with_conditions)
{
	cr_expect(maps_to(
		kube_map_slice,
		"{\"metadata\":{\"name\":\"e\",\"namespace\":\"n\"},"
		"\"addressType\":\"IPv6\",\"endpoints\":[{\"addresses\":["
		"\"fd::1\"],\"conditions\":{\"ready\":true,\"serving\":true,"
		"\"terminating\":false},\"zone\":\"z\",\"deprecatedTopology\":"
		"{\"t/x\":\"y\"}}],\"ports\":[{\"port\":80,\"appProtocol\":"
		"\"h2\"},{\"name\":\"none\"}]}",
#define CONDITIONS                                              \
	M "endpointslice_endpoint_conditions_ready=true " M     \
	  "endpointslice_endpoint_conditions_serving=true " M   \
	  "endpointslice_endpoint_conditions_terminating=false" \
	  " " M "endpointslice_endpoint_zone=z " M              \
	  "endpointslice_endpoint_topology_t_x=y " M            \
	  "endpointslice_endpoint_topology_present_t_x=true " M \
	  "namespace=n " M "endpointslice_address_type=IPv6 " M \
	  "endpointslice_name=e"
		"> __address__=[fd::1]:80 " M "endpointslice_port=80 " M
		"endpointslice_port_app_protocol=h2 " CONDITIONS "\n"
		"> __address__=fd::1 " M
		"endpointslice_port_name=none " CONDITIONS));
}

Test(kube_object, an_ingress_is_a_target_for_each_path)
{
	cr_expect(maps_to(
		kube_map_ingress,
		"{\"metadata\":{\"name\":\"i\",\"namespace\":\"n\"},\"spec\":{"
		"\"ingressClassName\":\"c\",\"tls\":[{\"hosts\":[\"a.b\","
		"\"*.w.x\"]}],\"rules\":[{\"host\":\"a.b\",\"http\":{\"paths\":["
		"{\"path\":\"/1\"},{\"path\":\"\"}]}},{\"host\":\"h.w.x\"},"
		"{\"host\":\"w.x\"}]}}",
#define I_OWN " " M "namespace=n " M "ingress_class_name=c " M "ingress_name=i"
		"> __address__=a.b " M "ingress_host=a.b " M
		"ingress_path=/1 " M "ingress_scheme=https" I_OWN "\n"
		"> __address__=a.b " M "ingress_host=a.b " M "ingress_path=/ " M
		"ingress_scheme=https" I_OWN "\n"
		"> __address__=h.w.x " M "ingress_host=h.w.x " M
		"ingress_path=/ " M "ingress_scheme=https" I_OWN "\n"
		"> __address__=w.x " M "ingress_host=w.x " M "ingress_path=/ " M
		"ingress_scheme=http" I_OWN));
}

/* Maps the parts that all objects have. */
static void map_common(struct group_builder *b, const struct yaml_node *object)
{
	group_target(b);
	kube_add_namespace(b, object);
	kube_add_meta(b, M "thing", object);
	kube_add_controller(b, object);
}

Test(kube_object, labels_and_annotations_become_labels)
{
	cr_expect(maps_to(map_common,
			  "{\"metadata\":{\"name\":\"x\",\"namespace\":\"n\","
			  "\"labels\":{\"a/b\":\"\"},\"annotations\":"
			  "{\"c-d\":\"e\"}}}",
			  "> " M "namespace=n " M "thing_name=x " M
			  "thing_labelpresent_a_b=true " M
			  "thing_annotation_c_d=e " M
			  "thing_annotationpresent_c_d=true"));
	cr_expect(maps_to(map_common, "{}", ">"));
}

Test(kube_object, a_label_of_an_object_can_be_found)
{
	struct target_groups *g =
		map(kube_map_service,
		    "{\"metadata\":{\"name\":\"s\",\"namespace\":\"n\"}}");

	cr_expect(check_str(kube_object_label(g, M "service_name"), "s"));
	cr_expect(check_str(kube_object_label(g, M "nothing"), ""));
	cr_expect(check_str(kube_object_label(NULL, M "service_name"), ""));
	cr_expect(check_str(kube_list_label(&g->v[0].labels, M "namespace"),
			    "n"));
	target_groups_unref(g);
}
