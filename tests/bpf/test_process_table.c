/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process table: what the kernel would find of a process after reports and
 * scans.
 */
#include "base/mem.h"
#include "bpf/process/process_table.h"
#include "tests/check.h"

TestSuite(process_table, .timeout = 60);

enum {
	MAPPINGS = 64,
	PIDS = PROCESS_TABLE_MAX + 2000,
};

#define SECOND 1000000000ULL

/* The mappings that were published for the kernel. */
static struct sampler_mapping mappings[MAPPINGS];
static struct sampler_process published[PIDS];
static bool known[PIDS];

static struct unwind_row in_kernel[100];
static struct table_store store;
static struct file_table files;
static struct process_table table;

static bool kernel_set(void *ctx UNUSED, uint32_t pid,
		       const struct sampler_process *p)
{
	cr_assert(pid < PIDS);
	published[pid] = *p;
	known[pid] = true;
	return true;
}

static void kernel_remove(void *ctx UNUSED, uint32_t pid)
{
	known[pid] = false;
}

static void begin(void)
{
	const struct process_publisher publisher = { .set = kernel_set,
						     .remove = kernel_remove };

	table_store_init(&store, in_kernel, 100);
	file_table_init(&files, &store, NULL);
	process_table_init(&table, &files, mappings, MAPPINGS, &publisher);
}

static void end(void)
{
	process_table_fini(&table);
	file_table_fini(&files);
	table_store_fini(&store);
}

static void report_map(uint32_t pid, uint64_t start, uint64_t len,
		       const char *path)
{
	const struct side_band_record r = {
		.kind = SIDE_BAND_MAP,
		.pid = pid,
		.tid = pid,
		.start = start,
		.end = start + len,
		.build_id = bytes_of(str_of(path)),
		.text = str_of(path),
	};

	process_table_report(&table, &r, 0);
}

static void report(enum side_band_kind kind, uint32_t pid, uint32_t tid,
		   uint32_t parent, uint64_t now)
{
	const struct side_band_record r = { .kind = kind,
					    .pid = pid,
					    .tid = tid,
					    .parent = parent,
					    .text = str_of("name") };

	process_table_report(&table, &r, now);
}

/* The mapping that the kernel finds for an address, or NULL. */
static const struct sampler_mapping *kernel_finds(uint32_t pid, uint64_t pc)
{
	const struct sampler_process *p = &published[pid];

	for (uint32_t i = p->first; known[pid] && i < p->first + p->count;
	     i++) {
		cr_assert(i == p->first ||
			  mappings[i - 1].end <= mappings[i].start);
		if (pc >= mappings[i].start && pc < mappings[i].end)
			return &mappings[i];
	}
	return NULL;
}

/* Read the file that is next, whose entries are all equal. */
static void read_file(const char *path)
{
	static const struct elf_segment segment = { .memory = 1 << 20,
						    .bytes = 1 << 20 };
	static const struct unwind_row entries[3];
	struct elf_read read = { .fd = -1,
				 .facts = {
					 .build_id = bytes_of(str_of(path)),
					 .segments = &segment,
					 .segment_count = 1,
					 .table = { entries, 3, 1 },
				 } };
	uint32_t number = file_table_next(&files, 0);

	cr_assert(number != FILE_NONE);
	cr_expect(check_str(str_of(file_table_at(&files, number)->path), path));
	file_table_learn(&files, number, &read, 0);
	process_table_file_changed(&table, number);
}

/* The end of a process was not reported, and its number is used again. */
Test(process_table, a_child_has_nothing_of_the_process_before)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x10123));
	report_map(9, 0x20000, 0x1000, "/bin/b");
	report(SIDE_BAND_FORK, 7, 7, 9, 0);
	cr_expect(!known[7], "its mappings will be overwritten");
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x20123));
	cr_expect(!kernel_finds(7, 0x10123));
	end();
}

/* Its table is gone, and the room for it will have the rows of another file. */
Test(process_table, what_cannot_be_published_leads_to_no_table_that_is_gone)
{
	const struct sampler_mapping *m;

	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	report_map(7, 0x20000, 0x1000, "/bin/b");
	for (uint64_t i = 0; i < MAPPINGS - 3; i++)
		report_map(8, 0x10000 + i * 0x2000, 0x1000, "//anon");
	read_file("/bin/b");
	read_file("/bin/a");
	process_table_publish(&table, 0);
	m = kernel_finds(7, 0x10123);
	cr_assert(m);
	cr_assert(m->pages);
	cr_assert(kernel_finds(7, 0x20123)->pages);
	/* The table of /bin/a is withdrawn. */
	store.tables.v[file_table_at(&files, 0)->table].pages = 0;
	process_table_file_changed(&table, 0);
	process_table_publish(&table, 1);
	cr_expect(table.crowded_out == 1);
	cr_assert(kernel_finds(7, 0x10123) == m);
	cr_expect(!m->pages);
	cr_expect(kernel_finds(7, 0x20123)->pages, "the other one is there");
	end();
}

/* The child has other mappings now, which say nothing about those of 7. */
Test(process_table, a_child_that_finds_no_room_takes_no_table_from_its_parent)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	for (uint64_t i = 0; i < MAPPINGS - 2; i++)
		report_map(8, 0x10000 + i * 0x2000, 0x1000, "//anon");
	read_file("/bin/a");
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x10123)->pages);
	report(SIDE_BAND_FORK, 9, 9, 7, 1);
	report(SIDE_BAND_EXEC, 9, 9, 0, 1);
	cr_expect(!known[9]);
	report_map(9, 0x20000, 0x1000, "/bin/b");
	report_map(9, 0x30000, 0x1000, "/bin/c");
	process_table_publish(&table, 1);
	cr_assert(table.crowded_out == 1);
	cr_expect(kernel_finds(7, 0x10123)->pages);
	end();
}

/* It shares what the kernel reads with its parent, and has other mappings now. */
Test(process_table,
     a_child_that_maps_over_a_file_takes_no_table_from_its_parent)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	for (uint64_t i = 0; i < MAPPINGS - 1; i++)
		report_map(8, 0x10000 + i * 0x2000, 0x1000, "//anon");
	read_file("/bin/a");
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x10123)->pages);
	report(SIDE_BAND_FORK, 9, 9, 7, 1);
	cr_expect(known[9]);
	process_table_scan(&table, 9,
			   &(struct process_text){
				   .name = str_of("b"),
				   .maps = str_of("20000-21000 r-xp 00000000 "
						  "fe:01 77 /bin/b\n") },
			   SECOND, 1000);
	process_table_publish(&table, 1000);
	cr_assert(table.crowded_out == 1);
	cr_expect(kernel_finds(7, 0x10123)->pages);
	end();
}

/* A user whose processes are never read would keep the table full. */
Test(process_table, processes_that_wait_to_be_read_for_long_give_way)
{
	uint64_t now = 1000;

	begin();
	for (uint32_t pid = 1; pid <= PROCESS_TABLE_MAX; pid++)
		cr_assert(process_table_may_scan(&table, pid, now));
	now += PROCESS_ASKED_MS - 1;
	cr_expect(!process_table_may_scan(&table, PROCESS_TABLE_MAX + 1, now));
	cr_assert(table.refused == 1);
	cr_expect(!table.evicted);
	now++;
	cr_expect(process_table_may_scan(&table, PROCESS_TABLE_MAX + 1, now));
	cr_expect(table.evicted == 1);
	end();
}

Test(process_table, mappings_are_published_with_their_tables)
{
	const struct sampler_mapping *m;

	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	report_map(7, 0x5000, 0x1000, "//anon");
	process_table_publish(&table, 0);
	/* Code that is compiled while it runs has no file. */
	m = kernel_finds(7, 0x5123);
	cr_assert(m);
	cr_expect(!m->pages);
	m = kernel_finds(7, 0x10123);
	cr_assert(m);
	cr_expect(!m->pages, "nobody has read the file");
	read_file("/bin/a");
	cr_expect(file_table_next(&files, 0) == FILE_NONE);
	process_table_publish(&table, 0);
	m = kernel_finds(7, 0x10123);
	cr_assert(m);
	cr_assert(m->pages == 1);
	cr_expect(m->bias == 0x10000);
	cr_assert(!kernel_finds(7, 0x11000));
	cr_expect(!kernel_finds(7, 0x4fff));
	end();
}

Test(process_table, another_program_has_other_mappings)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	report(SIDE_BAND_EXEC, 7, 7, 0, 0);
	report_map(7, 0x20000, 0x1000, "/bin/b");
	process_table_publish(&table, 0);
	cr_assert(!kernel_finds(7, 0x10000));
	cr_expect(kernel_finds(7, 0x20000));
	cr_expect(
		check_str(str_of(process_table_find(&table, 7)->name), "name"));
	end();
}

/* A child is known at once, and with the same mappings in the kernel. */
Test(process_table, a_child_shares_what_its_parent_has)
{
	uint32_t used;

	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	used = table.extents.used;
	report(SIDE_BAND_FORK, 8, 8, 7, 0);
	cr_assert(kernel_finds(8, 0x10000));
	cr_expect(table.extents.used == used);
	/* A thread is no child. */
	report(SIDE_BAND_FORK, 7, 9, 7, 0);
	cr_expect(!process_table_find(&table, 9));
	/* The parent's end takes nothing from the child. */
	report(SIDE_BAND_EXIT, 7, 7, 0, 0);
	report_map(10, 0x30000, 0x1000, "/bin/c");
	process_table_publish(&table, 10000);
	cr_assert(!known[7]);
	cr_expect(kernel_finds(8, 0x10000));
	report_map(8, 0x40000, 0x1000, "/bin/d");
	process_table_publish(&table, 10000);
	cr_assert(kernel_finds(8, 0x10000));
	cr_expect(kernel_finds(8, 0x40000));
	cr_expect(!kernel_finds(10, 0x40000));
	end();
}

Test(process_table, a_process_is_ignored_until_it_runs_another_program)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	cr_expect(!published[7].flags);
	process_table_ignore(&table, 7);
	process_table_ignore(&table, 99);
	process_table_publish(&table, 0);
	cr_expect(published[7].flags == SAMPLER_PROCESS_IGNORED);
	report(SIDE_BAND_FORK, 8, 8, 7, 0);
	cr_assert(known[8]);
	cr_expect(!published[8].flags);
	report(SIDE_BAND_EXEC, 7, 7, 0, 0);
	process_table_publish(&table, 0);
	cr_expect(!published[7].flags);
	end();
}

Test(process_table, a_process_that_is_grouped_again_is_sampled_again)
{
	struct process *p;

	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	process_table_set_group(&table, 7, 3);
	process_table_ignore(&table, 7);
	process_table_publish(&table, 0);
	cr_expect(published[7].flags == SAMPLER_PROCESS_IGNORED);
	p = &table.processes.v[0];
	cr_assert(p->pid == 7);
	process_table_regroup(&table, p);
	cr_assert(p->group == PROCESS_NO_GROUP);
	cr_expect(p->old_group == 3);
	process_table_publish(&table, 0);
	cr_expect(!published[7].flags);
	end();
}

Test(process_table, the_program_is_the_first_file_and_not_the_vdso)
{
	begin();
	report_map(7, 0x7f0000, 0x1000, "[vdso]");
	cr_expect(process_table_find(&table, 7)->program == FILE_NONE);
	report_map(7, 0x10000, 0x1000, "/bin/a");
	report_map(7, 0x20000, 0x1000, "/lib/ld.so");
	cr_expect(!strcmp(
		file_table_at(&files, process_table_find(&table, 7)->program)
			->path,
		"/bin/a"));
	report(SIDE_BAND_EXEC, 7, 7, 0, 0);
	cr_expect(process_table_find(&table, 7)->program == FILE_NONE);
	end();
}

Test(process_table, a_child_of_an_unpublished_parent_is_published_later)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	report(SIDE_BAND_FORK, 8, 8, 7, 0);
	cr_expect(!known[8]);
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x10000));
	cr_expect(kernel_finds(8, 0x10000));
	end();
}

Test(process_table, ended_processes_are_remembered_for_a_while)
{
	uint32_t file;

	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	file = address_space_at(&process_table_find(&table, 7)->space, 0)->file;
	/* A thread ends, and then the process. */
	report(SIDE_BAND_EXIT, 7, 9, 0, 1000);
	cr_expect(known[7]);
	report(SIDE_BAND_EXIT, 7, 7, 0, 1000);
	report(SIDE_BAND_EXIT, 7, 7, 0, 2000);
	/* Its other threads may still run. */
	process_table_publish(&table, 1000 + PROCESS_LINGER_MS - 1);
	cr_expect(kernel_finds(7, 0x10000));
	process_table_publish(&table,
			      1000 + PROCESS_LINGER_MS + PROCESS_RETIRE_MS);
	cr_expect(!known[7]);
	process_table_publish(&table, 1000 + PROCESS_KEPT_MS - 1);
	cr_assert(process_table_find(&table, 7));
	cr_expect(process_table_find(&table, 7)->ended);
	process_table_publish(&table,
			      1000 + PROCESS_KEPT_MS + PROCESS_RETIRE_MS);
	cr_expect(!process_table_find(&table, 7));
	/* A file of no process stays as long as a window refers to it. */
	process_table_sweep(&table, &file, 1,
			    1000 + PROCESS_KEPT_MS + PROCESS_RETIRE_MS);
	cr_expect(files.by_name.count == 1);
	process_table_sweep(&table, NULL, 0,
			    1000 + PROCESS_KEPT_MS + PROCESS_RETIRE_MS);
	cr_expect(!files.by_name.count);
	end();
}

Test(process_table, the_number_of_an_ended_process_is_used_again)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	report(SIDE_BAND_EXIT, 7, 7, 0, 0);
	report_map(7, 0x20000, 0x1000, "/bin/b");
	process_table_publish(&table, 0);
	cr_assert(!kernel_finds(7, 0x10000));
	cr_expect(kernel_finds(7, 0x20000));
	cr_expect(!process_table_find(&table, 7)->ended);
	end();
}

/* The mappings of process 7 were read at a time. */
static void scan(uint32_t pid, const char *maps, uint64_t read_ns)
{
	const struct process_text text = { .name = str_of("b"),
					   .maps = str_of(maps) };

	process_table_scan(&table, pid, &text, read_ns, read_ns / 1000000);
}

Test(process_table, what_is_reported_after_a_text_was_read_stays)
{
	const char *text = "20000-21000 r-xp 00000000 fe:01 77 /bin/b\n";
	struct side_band_record r = { .kind = SIDE_BAND_MAP,
				      .pid = 7,
				      .tid = 7,
				      .start = 0x30000,
				      .end = 0x31000,
				      .text = str_of("/lib/later"),
				      .time = 5 * SECOND };

	begin();
	process_table_report(&table, &r, 5000);
	scan(7, text, 4 * SECOND);
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x20000));
	cr_expect(kernel_finds(7, 0x30000));
	scan(7, text, 6 * SECOND);
	process_table_publish(&table, 0);
	cr_assert(kernel_finds(7, 0x20000));
	cr_expect(!kernel_finds(7, 0x30000));
	/* The text of another program, or of a process that has ended. */
	r.time = 8 * SECOND;
	r.kind = SIDE_BAND_EXEC;
	process_table_report(&table, &r, 8000);
	scan(7, text, 7 * SECOND);
	process_table_publish(&table, 0);
	cr_expect(!kernel_finds(7, 0x20000));
	report(SIDE_BAND_EXIT, 7, 7, 0, 9000);
	scan(7, text, 9 * SECOND - 1);
	cr_expect(process_table_find(&table, 7)->ended);
	end();
}

/*
 * Until its parent waits for it, a process that has ended has a directory in
 * /proc. What is read there must not make it a new process without a group.
 */
Test(process_table, a_process_that_is_read_at_its_end_keeps_its_group)
{
	const struct process *p;

	begin();
	report(SIDE_BAND_EXEC, 6, 6, 0, 0);
	process_table_set_group(&table, 6, 3);
	report(SIDE_BAND_FORK, 7, 7, 6, 0);
	cr_assert(process_table_may_scan(&table, 7, 0));
	report(SIDE_BAND_EXIT, 7, 7, 0, 1000);
	scan(7, "", 2 * SECOND);
	p = process_table_answer(&table, 7, 2 * SECOND);
	cr_assert(p);
	cr_expect(p->ended);
	cr_expect(process_table_inherited(&table, p) == 3);
	end();
}

/* The answer about the old program must not end the wait for the new one. */
Test(process_table, an_answer_from_before_a_program_began_is_none)
{
	begin();
	report(SIDE_BAND_EXEC, 7, 7, 0, 0);
	cr_assert(process_table_may_scan(&table, 7, 1000));
	report(SIDE_BAND_EXEC, 7, 7, 0, 2000);
	cr_expect(!process_table_answer(&table, 7, SECOND));
	cr_assert(process_table_may_scan(&table, 7, 3000));
	cr_expect(!process_table_answer(&table, 7, SECOND + SECOND / 2));
	cr_expect(process_table_answer(&table, 7, 3 * SECOND));
	end();
}

Test(process_table, a_process_inherits_the_group_that_its_parent_gets_later)
{
	const struct process *p;

	begin();
	report(SIDE_BAND_FORK, 7, 7, 6, 0);
	p = process_table_find(&table, 7);
	cr_assert(p);
	cr_expect(p->parent == 6);
	cr_expect(process_table_inherited(&table, p) == PROCESS_NO_GROUP);
	/* The parent is sampled or asked for, so it is added and read. */
	cr_assert(process_table_may_scan(&table, 6, 0));
	process_table_set_group(&table, 6, 3);
	p = process_table_find(&table, 7);
	cr_expect(process_table_inherited(&table, p) == 3);
	/* Its own group, or the one that it had, counts more. */
	process_table_set_group(&table, 7, 4);
	report(SIDE_BAND_EXEC, 7, 7, 0, 0);
	p = process_table_find(&table, 7);
	cr_expect(process_table_inherited(&table, p) == 4);
	end();
}

Test(process_table, a_scan_replaces_everything)
{
	begin();
	report_map(7, 0x10000, 0x1000, "/bin/a");
	scan(7,
	     "20000-21000 r-xp 00001000 fe:01 77 /bin/b\n"
	     "not a line\n"
	     "30000-31000 rw-p 00000000 fe:01 77 /bin/b\n"
	     "40000-41000 rwxp 00000000 00:00 0 \n"
	     "50000-51000 r-xp 00000000 00:00 0 [vdso]\n",
	     SECOND);
	process_table_publish(&table, 0);
	cr_assert(!kernel_finds(7, 0x10000));
	cr_expect(kernel_finds(7, 0x20000));
	cr_assert(!kernel_finds(7, 0x30000));
	cr_expect(kernel_finds(7, 0x40000));
	cr_assert(kernel_finds(7, 0x50000));
	cr_expect(published[7].count == 3);
	end();
}

/* There is no room: what is published stays, and others are not published. */
Test(process_table, mappings_without_room_are_counted)
{
	begin();
	for (uint64_t i = 0; i < MAPPINGS; i++)
		report_map(7, 0x10000 + i * 0x2000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	cr_expect(published[7].count == MAPPINGS);
	report_map(8, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	cr_assert(!known[8]);
	cr_expect(table.crowded_out == 1);
	report(SIDE_BAND_EXIT, 7, 7, 0, 0);
	process_table_publish(&table, PROCESS_LINGER_MS);
	process_table_sweep(&table, NULL, 0,
			    PROCESS_LINGER_MS + EXTENTS_DELAY_MS);
	process_table_publish(&table, PROCESS_LINGER_MS + EXTENTS_DELAY_MS);
	cr_expect(kernel_finds(8, 0x10000));
	end();
}

/* Many processes come and go, and the table does not grow. */
Test(process_table, a_storm_of_forks_takes_bounded_memory)
{
	uint64_t now = 0;

	begin();
	report_map(1, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	for (uint32_t i = 0; i < 20000; i++) {
		uint32_t pid = 2 + i % 98;

		now += 10;
		report(SIDE_BAND_FORK, pid, pid, 1, now);
		if (i % 3 == 0) {
			report(SIDE_BAND_EXEC, pid, pid, 0, now);
			report_map(pid, 0x20000, 0x1000, "/bin/b");
			process_table_publish(&table, now);
		}
		report(SIDE_BAND_EXIT, pid, pid, 0, now);
		if (i % 100 == 0)
			process_table_sweep(&table, NULL, 0, now);
	}
	process_table_publish(&table, now + PROCESS_KEPT_MS);
	cr_assert(table.by_pid.count == 1);
	cr_expect(!table.refused);
	cr_expect(table.processes.count <= 100);
	cr_expect(table.publications.count < MAPPINGS);
	cr_expect(kernel_finds(1, 0x10000));
	end();
}

/* Fill the table with processes, from process 1 on. */
static void fill(void)
{
	for (uint32_t pid = 1; pid <= PROCESS_TABLE_MAX; pid++)
		report(SIDE_BAND_NAME, pid, pid, 0, 0);
	cr_assert(table.by_pid.count == PROCESS_TABLE_MAX);
}

Test(process_table, idle_processes_give_way_to_new_ones)
{
	begin();
	fill();
	process_table_sampled(&table, 1);
	process_table_sampled(&table, 777);
	process_table_publish(&table, 0);
	for (uint32_t i = 1; i <= 1500; i++) {
		uint32_t pid = PROCESS_TABLE_MAX + i;

		report(SIDE_BAND_FORK, pid, pid, 1, 0);
		cr_assert(process_table_find(&table, pid));
	}
	process_table_publish(&table, 0);
	cr_expect(table.by_pid.count == PROCESS_TABLE_MAX);
	cr_assert(table.evicted == 1500);
	cr_expect(!table.refused);
	cr_assert(process_table_find(&table, 1));
	cr_expect(known[1]);
	cr_assert(process_table_find(&table, 777));
	cr_expect(known[777]);
	cr_assert(!process_table_find(&table, 2));
	cr_expect(!known[2]);
	/* It is read again with its next sample. */
	cr_expect(process_table_may_scan(&table, 2, 0));
	scan(2, "20000-21000 r-xp 00000000 fe:01 77 /bin/b\n", SECOND);
	process_table_publish(&table, 0);
	cr_expect(kernel_finds(2, 0x20000));
	end();
}

/* Nobody is idle: they lose their protection as the hand goes round. */
Test(process_table, processes_that_are_all_sampled_give_way_after_a_while)
{
	const uint32_t turns = PROCESS_TABLE_MAX / PROCESS_EVICTION_STEPS;

	begin();
	fill();
	process_table_mark(&table, 1, 0);
	for (uint32_t pid = 1; pid <= PROCESS_TABLE_MAX; pid++)
		process_table_sampled(&table, pid);
	for (uint32_t i = 1; i <= turns; i++)
		report(SIDE_BAND_NAME, PROCESS_TABLE_MAX + i,
		       PROCESS_TABLE_MAX + i, 0, 0);
	cr_assert(table.refused == turns);
	cr_expect(!table.evicted);
	report(SIDE_BAND_NAME, PROCESS_TABLE_MAX + 1, PROCESS_TABLE_MAX + 1, 0,
	       0);
	cr_expect(process_table_find(&table, PROCESS_TABLE_MAX + 1));
	/* The one whose samples the user asked for stays. */
	cr_assert(process_table_find(&table, 1));
	cr_expect(!process_table_find(&table, 2));
	end();
}

Test(process_table, a_process_with_many_mappings_gives_way_although_sampled)
{
	begin();
	fill();
	for (uint32_t pid = 1; pid <= PROCESS_TABLE_MAX; pid++)
		process_table_sampled(&table, pid);
	for (uint64_t i = 0; i <= PROCESS_FAIR_RANGES; i++)
		report_map(500, 0x10000 + i * 0x2000, 0x1000, "/bin/a");
	report(SIDE_BAND_NAME, PROCESS_TABLE_MAX + 1, PROCESS_TABLE_MAX + 1, 0,
	       0);
	cr_expect(process_table_find(&table, PROCESS_TABLE_MAX + 1));
	cr_assert(!process_table_find(&table, 500));
	cr_expect(table.evicted == 1);
	end();
}

/* Forks of a process with many mappings take no memory. */
Test(process_table, children_share_the_ranges_of_their_parent)
{
	begin();
	for (uint64_t i = 0; i < ADDRESS_RANGES_MAX - 4; i++)
		report_map(1, 0x10000 + i * 0x2000, 0x1000, "/bin/a");
	for (uint32_t pid = 2; pid <= PROCESS_TABLE_MAX; pid++)
		report(SIDE_BAND_FORK, pid, pid, 1, 0);
	cr_expect(table.pool.ranges <= 2 * ADDRESS_RANGES_MAX);
	cr_assert(!table.evicted);
	cr_expect(!table.refused);
	/* They change one after the other. */
	for (uint32_t pid = 2; pid <= 1000; pid++)
		report_map(pid, 0x1000, 0x1000, "/bin/b");
	cr_expect(table.pool.ranges <=
		  ADDRESS_POOL_MAX + 2 * ADDRESS_RANGES_MAX);
	cr_assert(table.evicted);
	cr_expect(!table.crowded_out);
	end();
	cr_expect(!table.pool.ranges);
}

/* Idle processes keep no room in the kernel from those that are sampled. */
Test(process_table, mappings_of_idle_processes_give_way)
{
	begin();
	for (uint64_t i = 0; i < MAPPINGS; i++)
		report_map(7, 0x10000 + i * 0x2000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	report_map(8, 0x10000, 0x1000, "/bin/a");
	process_table_publish(&table, 0);
	process_table_sweep(&table, NULL, 0, 100);
	process_table_publish(&table, 100);
	cr_assert(known[7]);
	cr_assert(!known[8]);
	cr_expect(!table.evicted);
	process_table_sampled(&table, 8);
	process_table_publish(&table, 100);
	cr_assert(!process_table_find(&table, 7));
	cr_expect(!known[7]);
	cr_expect(!known[8], "a walk may still read what was freed");
	process_table_sampled(&table, 8);
	process_table_publish(&table, 100 + EXTENTS_DELAY_MS);
	cr_assert(kernel_finds(8, 0x10000));
	cr_expect(table.evicted == 1);
	end();
}
