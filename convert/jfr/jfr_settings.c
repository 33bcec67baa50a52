/* SPDX-License-Identifier: Apache-2.0 */
#include "convert/jfr/jfr_settings.h"

/* Intervals of async-profiler, and of Java, where a recording does not say them. */
#define CPU_PERIOD_NS  (10 * (int64_t)1000000)
#define WALL_PERIOD_NS (50 * (int64_t)1000000)

#define SAMPLES      "jdk.ExecutionSample"
#define RECORDING    "jdk.ActiveRecording"
#define DATADOG_CPU  "datadog.ExecutionSample"
#define DATADOG_WALL "datadog.MethodSample"

enum {
	EVENT_MAX = 100 /* longest name of an event, in bytes */
};

void jfr_settings_begin(struct jfr_settings *s)
{
	s->is_begun = false;
}

bool jfr_settings_count(struct str class)
{
	return str_is(class, SAMPLES) || str_is(class, RECORDING) ||
	       str_is(class, DATADOG_CPU) || str_is(class, DATADOG_WALL);
}

/* Return a duration such as "20 ms" in nanoseconds; 0: it is none. */
static int64_t jfr_settings_duration(struct str text)
{
	static const struct {
		const char *unit;
		int64_t ns;
	} units[] = {
		{ "", 1 },           { "ns", 1 },
		{ "us", 1000 },      { "ms", 1000000 },
		{ "s", 1000000000 }, { "m", 60 * (int64_t)1000000000 },
	};
	struct str unit;
	struct str number = str_cut(text, ' ', &unit);
	int64_t value;

	if (!str_to_i64(number, &value) || value < 0)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (str_is(unit, units[i].unit))
			return __builtin_mul_overflow(value, units[i].ns,
						      &value) ?
				       0 :
				       value;
	}
	return 0;
}

/* Forget the settings of earlier chunks at the first setting of this one. */
static void jfr_settings_forget(struct jfr_settings *s)
{
	if (s->is_begun)
		return;
	buf_reset(&s->event);
	s->cpu_ns = 0;
	s->wall_ns = 0;
	s->java_ns = 0;
	s->is_begun = true;
}

void jfr_settings_take(struct jfr_settings *s, struct str class,
		       struct str name, struct str value)
{
	jfr_settings_forget(s);
	if (str_is(class, RECORDING)) {
		if (!str_is(name, "event"))
			return;
		buf_reset(&s->event);
		buf_utf8(&s->event, str_clip(value, EVENT_MAX), "?");
		return;
	}
	if (str_is(class, DATADOG_WALL)) {
		if (str_is(name, "interval"))
			s->wall_ns = jfr_settings_duration(value);
		return;
	}
	if (str_is(name, "interval"))
		s->cpu_ns = jfr_settings_duration(value);
	else if (str_is(name, "wall"))
		s->wall_ns = jfr_settings_duration(value);
	else if (str_is(name, "period"))
		s->java_ns = jfr_settings_duration(value);
}

bool jfr_settings_by(const struct jfr_settings *s, const char *event)
{
	return str_is(str_from(buf_bytes(&s->event)), event);
}

bool jfr_settings_by_events(const struct jfr_settings *s)
{
	static const char *const times[] = {
		"cpu", "itimer", "ctimer", "wall", "cpu-clock", "task-clock"
	};

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		if (jfr_settings_by(s, times[i]))
			return false;
	}
	return s->event.len > 0;
}

int64_t jfr_settings_events(const struct jfr_settings *s)
{
	return s->cpu_ns > 0 ? s->cpu_ns : 1;
}

/* Return the first interval above 0, or the last one. */
static int64_t jfr_settings_first(const int64_t *v, size_t count)
{
	size_t i = 0;

	while (i + 1 < count && v[i] <= 0)
		i++;
	return v[i];
}

int64_t jfr_settings_cpu(const struct jfr_settings *s, int64_t sent_ns)
{
	const int64_t v[] = { sent_ns, s->cpu_ns, s->java_ns, CPU_PERIOD_NS };

	return jfr_settings_first(v, ARRAY_SIZE(v));
}

int64_t jfr_settings_wall(const struct jfr_settings *s, int64_t sent_ns)
{
	bool only = jfr_settings_by(s, "wall");
	const int64_t v[] = { s->wall_ns, only ? sent_ns : 0,
			      only ? s->cpu_ns : 0, WALL_PERIOD_NS };

	return jfr_settings_first(v, ARRAY_SIZE(v));
}

void jfr_settings_fini(struct jfr_settings *s)
{
	buf_fini(&s->event);
}
