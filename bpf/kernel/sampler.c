/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf/kernel/sampler.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sampler.skel.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file_slurp.h"
#include "base/vec.h"
#include "bpf/kernel/cpu_list.h"
#include "bpf/kernel/kernel_gate.h"

const struct sampler_options sampler_defaults = {
	.hz = 19,
	.entries = 3 << 20,
	.mappings = 64 << 10,
	.processes = 16 << 10,
	.ring = 2 << 20,
};

/* Memory of a map that the kernel shares with this process. */
struct shared_map {
	void *memory;
	size_t size;
};

enum {
	/* Largest number of sampled threads that wait. */
	SAMPLER_WAITING_MAX = 32 << 10,
};

struct sampler {
	struct sampler_options options;
	struct sampler_bpf *skeleton;
	struct ring_buffer *ring;
	struct shared_map entries;
	struct shared_map mappings;
	VEC(struct bpf_link *) clocks; /* one for each CPU that was online */
	struct bpf_link *switches;
	/* while this descriptor is open, the kernel measures; -1: none */
	int stats;
	/* Used only during sampler_drain(). */
	sampler_visit *visit;
	void *ctx;
};

/*
 * Callback of libbpf_set_print(): print nothing. libbpf would explain each
 * failure on stderr, but here errors are returned to the caller.
 */
static int sampler_silence(enum libbpf_print_level level UNUSED,
			   const char *format UNUSED, va_list values UNUSED)
{
	return 0;
}

/* Whether this process has the capabilities that sampling needs. */
static bool sampler_is_capable(void)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct has[2] = { { 0 } };
	const uint32_t high = CAP_TO_MASK(CAP_BPF) | CAP_TO_MASK(CAP_PERFMON);

	if (syscall(SYS_capget, &header, has))
		return false;
	return (has[CAP_TO_INDEX(CAP_BPF)].effective & high) == high ||
	       has[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective &
		       CAP_TO_MASK(CAP_SYS_ADMIN);
}

/*
 * Set the error of a system call or of libbpf; `error` is an error number or
 * its negative. If a capability is missing, the message lists those that are
 * needed. If the kernel refuses the call although no capability is missing, the
 * message lists possible reasons.
 */
static int sampler_error(struct err *err, int error, const char *what)
{
	errno = error < 0 ? -error : error;
	if (errno == EACCES && sampler_is_capable())
		return err_set(
			err, ERR_DENIED,
			"%s: the kernel refuses it, although everprof has the capabilities for it: either a security module such as SELinux (look at its audit log) or the BPF verifier of the kernel does not allow it",
			what);
	if (errno == EPERM && sampler_is_capable())
		return err_set(
			err, ERR_DENIED,
			"%s: permission denied, although everprof has the capabilities for it: a filter of system calls refuses it (SystemCallFilter= of systemd, the seccomp profile of a container), or the capabilities do not count, because they are those of a user namespace (a container without root, PrivateUsers= of systemd); before Linux 5.11, raise the limit of locked memory, too (LimitMEMLOCK= of systemd)",
			what);
	if (errno == EPERM || errno == EACCES)
		return err_set(
			err, ERR_DENIED,
			"%s: permission denied; sampling needs the capabilities CAP_BPF and CAP_PERFMON (before Linux 5.11 also CAP_SYS_RESOURCE, or a higher limit of locked memory); outside of containers, root has them",
			what);
	return err_sys(err, "%s", what);
}

/* Check the version of the kernel, and that it has type information. */
static int sampler_check_kernel(struct err *err)
{
	struct kernel_texts texts = { 0 };
	struct kernel_version version;
	struct utsname name;
	struct buf signature = { .max = 4096 };
	int rc;

	if (uname(&name))
		return err_sys(err, "uname");
	texts.release = str_of(name.release);
	texts.version = str_of(name.version);
	if (!file_slurp("/proc/version_signature", &signature, NULL))
		texts.signature = str_from(buf_bytes(&signature));
	rc = kernel_version_find(&texts, &version) ?
		     kernel_gate_check(version, err) :
		     err_set(err, ERR_UNSUPPORTED,
			     "cannot parse the version of the kernel: \"%s\"",
			     name.release);
	buf_fini(&signature);
	if (!rc && access("/sys/kernel/btf/vmlinux", R_OK))
		rc = err_set(
			err, ERR_UNSUPPORTED,
			"cannot read the type information of the kernel, /sys/kernel/btf/vmlinux; sampling needs a kernel with CONFIG_DEBUG_INFO_BTF, and a mounted /sys");
	return rc;
}

/*
 * Check that this process is in the initial PID namespace, because the programs
 * in the kernel use the PIDs of that namespace. The inode of the initial
 * namespace is fixed (Linux, include/linux/proc_ns.h, PROC_PID_INIT_INO).
 */
static int sampler_check_namespace(struct err *err)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st))
		return err_set(
			err, ERR_UNSUPPORTED,
			"/proc is not mounted, or not for this PID namespace; the collector reads processes there (mount -t proc proc /proc)");
	if (st.st_ino == 0xeffffffc)
		return 0;
	return err_set(
		err, ERR_UNSUPPORTED,
		"everprof does not see the processes of the whole machine: give its container the PID namespace of the host (docker run --pid=host, Kubernetes: hostPID: true); if it has that already, the host is itself a container (as a node of kind is): run everprof on the machine outside of it");
}

/*
 * Set the sizes of the maps, and load the programs. The program for switches is
 * loaded only if the options ask for switches.
 */
static int sampler_load(struct sampler *s, struct err *err)
{
	const struct sampler_options *o = &s->options;
	struct sampler_bpf *k = sampler_bpf__open();
	int rc;

	if (!k)
		return sampler_error(err, errno, "cannot open the BPF program");
	s->skeleton = k;
	rc = bpf_map__set_max_entries(k->maps.entries, o->entries);
	if (!rc)
		rc = bpf_map__set_max_entries(k->maps.mappings, o->mappings);
	if (!rc)
		rc = bpf_map__set_max_entries(k->maps.processes, o->processes);
	if (!rc)
		rc = bpf_map__set_max_entries(k->maps.samples, o->ring);
	if (!rc && o->switches)
		rc = bpf_map__set_max_entries(k->maps.waiting,
					      SAMPLER_WAITING_MAX);
	if (!rc)
		rc = bpf_program__set_autoload(k->progs.sampler_switch,
					       o->switches > 0);
	k->rodata->switch_share = o->switches;
	if (!rc)
		rc = sampler_bpf__load(k);
	return rc ? sampler_error(err, rc, "cannot load the BPF program") : 0;
}

/*
 * Map the memory of `map`, an array of `size` bytes, into this process, so that
 * it is shared with the kernel.
 */
static int sampler_share(const struct bpf_map *map, size_t size,
			 struct shared_map *out, struct err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	size = (size + page - 1) / page * page;
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		return err_sys(err, "cannot map a BPF array into memory");
	*out = (struct shared_map){ .memory = memory, .size = size };
	return 0;
}

/*
 * Callback of ring_buffer__consume(): pass a sample to the visitor of
 * sampler_drain().
 */
static int sampler_receive(void *ctx, void *data, size_t size)
{
	struct sampler *s = ctx;
	const struct sample_record *r = data;

	/*
	 * Skip a record that is shorter than its header says. The programs in
	 * the kernel do not send such records.
	 */
	if (size >= sampler_record_size(&r->header))
		s->visit(s->ctx, r);
	return 0;
}

/*
 * Map the shared arrays and the ring buffer of the loaded programs into this
 * process.
 */
static int sampler_connect(struct sampler *s, struct err *err)
{
	const struct sampler_options *o = &s->options;
	struct sampler_bpf *k = s->skeleton;
	int rc = sampler_share(k->maps.entries,
			       o->entries * sizeof(struct unwind_row),
			       &s->entries, err);

	if (!rc)
		rc = sampler_share(k->maps.mappings,
				   o->mappings * sizeof(struct sampler_mapping),
				   &s->mappings, err);
	if (rc)
		return rc;
	s->ring = ring_buffer__new(bpf_map__fd(k->maps.samples),
				   sampler_receive, s, NULL);
	return s->ring ? 0 :
			 sampler_error(
				 err, errno,
				 "cannot map the BPF ring buffer into memory");
}

/*
 * Raise the soft limit of locked memory to the hard limit. Before Linux 5.11,
 * the kernel counts the memory of maps as locked memory. libbpf tries to remove
 * the limit, which needs CAP_SYS_RESOURCE. Without that capability, the hard
 * limit may suffice.
 */
static void sampler_raise_limit(void)
{
	struct rlimit locked;

	if (getrlimit(RLIMIT_MEMLOCK, &locked))
		return;
	locked.rlim_cur = locked.rlim_max;
	(void)setrlimit(RLIMIT_MEMLOCK, &locked);
}

int sampler_open(const struct sampler_options *o, struct sampler **out,
		 struct err *err)
{
	struct sampler *s = mem_new(struct sampler);
	int rc;

	s->options = *o;
	s->stats = -1;
	libbpf_set_print(sampler_silence);
	sampler_raise_limit();
	rc = sampler_check_kernel(err);
	if (!rc)
		rc = sampler_check_namespace(err);
	if (!rc)
		rc = sampler_load(s, err);
	if (!rc)
		rc = sampler_connect(s, err);
	if (rc) {
		sampler_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

static void sampler_unshare(struct shared_map *m)
{
	if (m->memory)
		munmap(m->memory, m->size);
}

void sampler_close(struct sampler *s)
{
	if (!s)
		return;
	sampler_stop(s);
	ring_buffer__free(s->ring);
	sampler_unshare(&s->entries);
	sampler_unshare(&s->mappings);
	sampler_bpf__destroy(s->skeleton);
	if (s->stats >= 0)
		close(s->stats);
	mem_free(s);
}

/* Start the clock of a CPU, whose ticks run the program. */
static int sampler_start_clock(struct sampler *s, unsigned cpu, struct err *err)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.freq = 1,
		.sample_freq = s->options.hz,
		.exclude_idle = 1,
	};
	struct bpf_link *link;
	long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return sampler_error(err, errno, "cannot open a perf event");
	link = bpf_program__attach_perf_event(s->skeleton->progs.sampler_tick,
					      (int)fd);
	if (!link) {
		int error = errno;

		close((int)fd);
		return sampler_error(
			err, error,
			"cannot attach the BPF program to a perf event");
	}
	*vec_add(&s->clocks) = link;
	return 0;
}

/* Let the program for switches run. */
static int sampler_start_switches(struct sampler *s, struct err *err)
{
	s->switches = bpf_program__attach(s->skeleton->progs.sampler_switch);
	return s->switches ?
		       0 :
		       sampler_error(
			       err, errno,
			       "cannot attach the BPF program to the scheduler");
}

int sampler_start(struct sampler *s, struct err *err)
{
	struct cpu_list cpus;
	int rc = cpu_list_online(&cpus, err);

	for (unsigned i = 0; i < CPU_LIST_MAX && s->options.hz && !rc; i++) {
		if (cpu_list_has(&cpus, i))
			rc = sampler_start_clock(s, i, err);
	}
	if (!rc && s->options.switches)
		rc = sampler_start_switches(s, err);
	if (rc)
		sampler_stop(s);
	return rc;
}

void sampler_stop(struct sampler *s)
{
	for (size_t i = 0; i < s->clocks.count; i++)
		bpf_link__destroy(s->clocks.v[i]);
	vec_fini(&s->clocks);
	bpf_link__destroy(s->switches);
	s->switches = NULL;
}

struct unwind_row *sampler_entries(struct sampler *s)
{
	return s->entries.memory;
}

struct sampler_mapping *sampler_mappings(struct sampler *s)
{
	return s->mappings.memory;
}

int sampler_process_set(struct sampler *s, uint32_t pid,
			const struct sampler_process *p, struct err *err)
{
	int rc = bpf_map__update_elem(s->skeleton->maps.processes, &pid,
				      sizeof(pid), p, sizeof(*p), BPF_ANY);

	return rc ? sampler_error(
			    err, rc,
			    "cannot write the mappings of a process to a BPF map") :
		    0;
}

void sampler_process_remove(struct sampler *s, uint32_t pid)
{
	bpf_map__delete_elem(s->skeleton->maps.processes, &pid, sizeof(pid), 0);
}

int sampler_drain(struct sampler *s, sampler_visit *visit, void *ctx,
		  struct err *err)
{
	int n;

	s->visit = visit;
	s->ctx = ctx;
	n = ring_buffer__consume(s->ring);
	return n < 0 ? sampler_error(err, n,
				     "cannot read the BPF ring buffer") :
		       0;
}

int sampler_counts(struct sampler *s, uint64_t out[SAMPLER_COUNTERS],
		   struct err *err)
{
	int cpus = libbpf_num_possible_cpus();
	uint64_t *each;
	int rc = 0;

	if (cpus < 1)
		return sampler_error(err, cpus,
				     "cannot find out the number of CPUs");
	each = mem_zalloc((size_t)cpus, sizeof(*each));
	for (uint32_t i = 0; i < SAMPLER_COUNTERS && !rc; i++) {
		rc = bpf_map__lookup_elem(s->skeleton->maps.counters, &i,
					  sizeof(i), each,
					  (size_t)cpus * sizeof(*each), 0);
		out[i] = 0;
		for (int c = 0; c < cpus; c++)
			out[i] += each[c];
	}
	mem_free(each);
	return rc ? sampler_error(
			    err, rc,
			    "cannot read the counters of the BPF program") :
		    0;
}

int sampler_measure(struct sampler *s, struct err *err)
{
	if (s->stats < 0)
		s->stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	return s->stats < 0 ?
		       sampler_error(
			       err, s->stats,
			       "cannot measure the run time of the BPF program") :
		       0;
}

/*
 * Return the memory of `map` in bytes, as the kernel accounts it, or 0 if that
 * is not known.
 */
static uint64_t sampler_map_memory(const struct bpf_map *map)
{
	struct buf text = { .max = 4096 };
	int64_t bytes = 0;
	char path[64];
	struct str line;
	const char *at;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", bpf_map__fd(map));
	if (!file_slurp(path, &text, NULL)) {
		at = strstr(buf_cstr(&text), "memlock:");
		line = str_of(at ? at + 8 : "");
		if (!str_to_i64(str_trim(str_cut(line, '\n', &line)), &bytes))
			bytes = 0;
	}
	buf_fini(&text);
	return (uint64_t)bytes;
}

int sampler_cost_of(struct sampler *s, struct sampler_cost *out,
		    struct err *err)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	struct bpf_map *map;
	int rc = bpf_obj_get_info_by_fd(
		bpf_program__fd(s->skeleton->progs.sampler_tick), &info, &size);

	if (rc)
		return sampler_error(
			err, rc, "cannot read the run time of the BPF program");
	*out = (struct sampler_cost){ .runs = info.run_cnt,
				      .run_ns = info.run_time_ns };
	bpf_object__for_each_map(map, s->skeleton->obj)
		out->memory += sampler_map_memory(map);
	return 0;
}

/*
 * Return how many instructions the verifier looked at when it checked
 * `program`, or 0 if that is not known or the program is not loaded.
 */
static uint32_t sampler_verified_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);
	int fd = bpf_program__fd(program);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &size))
		return 0;
	return info.verified_insns;
}

uint32_t sampler_verified(struct sampler *s)
{
	return sampler_verified_of(s->skeleton->progs.sampler_tick) +
	       sampler_verified_of(s->skeleton->progs.sampler_switch);
}
