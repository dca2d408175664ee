/* The command line. */
#include "cmd/arguments.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum { NAMES_MAX = 200 };

struct scan {
	struct arguments *a;
	struct option_value *given;       /* [argc * longest cluster]                */
	size_t capacity;
	int at;
};

const struct command *
arguments_command(const char *name)
{
	for (size_t i = 0; command_table[i] != NULL; i++)
		if (strcmp(command_table[i]->name, name) == 0 ||
		    (command_table[i]->alias != NULL && strcmp(command_table[i]->alias, name) == 0))
			return command_table[i];
	return NULL;
}

enum rs_status
arguments_unknown_command(const char *name)
{
	const char *names[NAMES_MAX], *near;
	char   escaped[72];
	size_t n = 0;

	for (size_t i = 0; command_table[i] != NULL && n + 2 < NAMES_MAX; i++) {
		names[n++] = command_table[i]->name;
		if (command_table[i]->alias != NULL)
			names[n++] = command_table[i]->alias;
	}
	near = spec_nearest(name, names, n);
	rs_fail(RS_EUSAGE, "there is no command '%s'", rs_escape(escaped, name, strlen(name)));
	return near != NULL ? rs_hint("did you mean '%s'?", near) :
		rs_hint("'recsys-train --help' lists the commands");
}

/* The option of that name, or of that letter when name is NULL. */
static const struct command_option *
find_option(const struct arguments *a, const char *name, size_t n, char letter)
{
	const struct command_option *tables[] = {
		a->command != NULL ? a->command->option : NULL, command_global,
	};

	for (size_t t = 0; t < 2; t++)
		for (const struct command_option *o = tables[t]; o != NULL && o->name != NULL; o++)
			if (name != NULL ? strlen(o->name) == n && strncmp(o->name, name, n) == 0 :
			    o->letter == letter)
				return o;
	return NULL;
}

static enum rs_status
unknown_option(const struct arguments *a, const char *name, size_t n)
{
	const struct command_option *tables[] = {
		a->command != NULL ? a->command->option : NULL, command_global,
	};
	const char *names[NAMES_MAX], *near;
	char   wanted[72], escaped[72];
	size_t n_names = 0;

	for (size_t t = 0; t < 2; t++)
		for (const struct command_option *o = tables[t]; o != NULL && o->name != NULL; o++)
			if (n_names < NAMES_MAX)
				names[n_names++] = o->name;
	snprintf(wanted, sizeof(wanted), "%.*s", (int)n, name);
	near = n > 3 ? spec_nearest(wanted, names, n_names) : NULL;
	rs_fail(RS_EUSAGE, "unknown option '%s'", rs_escape(escaped, name, n));
	if (near != NULL)
		return rs_hint("did you mean '%s'?", near);
	if (a->command != NULL)
		return rs_hint("'recsys-train %s --help' lists the options", a->command->name);
	return rs_hint("'recsys-train --help' lists the options");
}

static int
is_optional(const struct command_option *option)
{
	return option->argument != NULL && option->argument[0] == '[';
}

static enum rs_status
add_value(struct scan *s, const struct command_option *option, const char *value)
{
	if (s->a->n_given == s->capacity) {
		const size_t capacity = s->capacity > 0 ? 2 * s->capacity : 16;
		struct option_value *grown = realloc(s->given, capacity * sizeof(*grown));

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory");
		s->a->given = s->given = grown;
		s->capacity = capacity;
	}
	s->given[s->a->n_given++] = (struct option_value){ option, value };
	return RS_OK;
}

/* The next word is the value of an option that needs one. */
static enum rs_status
add_next(struct scan *s, const struct command_option *option)
{
	if (s->at + 1 >= s->a->argc)
		return rs_fail(RS_EUSAGE, "option '%s' needs a value, %s", option->name,
			option->argument);
	return add_value(s, option, s->a->argv[++s->at]);
}

static enum rs_status
take_long(struct scan *s, const char *word)
{
	const size_t n = strcspn(word, "=");
	const struct command_option *option = find_option(s->a, word, n, 0);

	if (option == NULL)
		return unknown_option(s->a, word, n);
	if (word[n] == '=' && option->argument == NULL)
		return rs_fail(RS_EUSAGE, "option '%s' takes no value", option->name);
	if (word[n] == '=')
		return add_value(s, option, word + n + 1);
	if (option->argument == NULL || is_optional(option))
		return add_value(s, option, "");
	return add_next(s, option);
}

/* -vq, -d FILE, -dFILE. */
static enum rs_status
take_letters(struct scan *s, const char *word)
{
	for (size_t i = 1; word[i] != '\0'; i++) {
		const struct command_option *option = find_option(s->a, NULL, 0, word[i]);
		const char name[] = { '-', word[i], '\0' };

		if (option == NULL)
			return unknown_option(s->a, name, 2);
		if (option->argument != NULL && !is_optional(option))
			return word[i + 1] != '\0' ? add_value(s, option, word + i + 1) :
				add_next(s, option);
		RS_TRY(add_value(s, option, ""));
	}
	return RS_OK;
}

static enum rs_status
take_positional(struct scan *s, const char *word)
{
	struct arguments *a = s->a;

	if (a->command != NULL) {
		a->positional[a->n_positional++] = word;
		return RS_OK;
	}
	a->command = arguments_command(word);
	return a->command != NULL ? RS_OK : arguments_unknown_command(word);
}

/* What an option means stands before all that was typed, which so wins over it. */
static enum rs_status
add_meanings(struct scan *s)
{
	const struct command *const c = s->a->command;

	for (const struct option_meaning *m = c != NULL ? c->meaning : NULL;
		m != NULL && m->option != NULL; m++) {
		const struct command_option *const option = find_option(s->a, m->name,
			strlen(m->name), 0);

		assert(option != NULL);
		if (!argument_given(s->a, m->option))
			continue;
		RS_TRY(add_value(s, option, m->value));
		const struct option_value value = s->given[s->a->n_given - 1];
		memmove(s->given + 1, s->given, (s->a->n_given - 1) * sizeof(value));
		s->given[0] = value;
	}
	return RS_OK;
}

enum rs_status
arguments_parse(int argc, char **argv, struct arguments *out)
{
	struct scan s = { .a = out, .at = 1 };
	int only_positional = 0;

	*out = (struct arguments){ .argc = argc, .argv = argv };
	out->positional = calloc((size_t)argc + 1, sizeof(*out->positional));
	if (out->positional == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	for (; s.at < argc; s.at++) {
		const char *word = argv[s.at];

		if (only_positional || word[0] != '-' || word[1] == '\0')
			RS_TRY(take_positional(&s, word));
		else if (strcmp(word, "--") == 0)
			only_positional = 1;
		else if (word[1] == '-')
			RS_TRY(take_long(&s, word));
		else
			RS_TRY(take_letters(&s, word));
	}
	return add_meanings(&s);
}

void
arguments_free(struct arguments *a)
{
	free(a->positional);
	free((void *)(uintptr_t)a->given);
	*a = (struct arguments){ 0 };
}

const char *
argument(const struct arguments *a, const char *name)
{
	for (size_t i = a->n_given; i-- > 0;)
		if (strcmp(a->given[i].option->name, name) == 0)
			return a->given[i].value;
	return NULL;
}

int
argument_given(const struct arguments *a, const char *name)
{
	return argument(a, name) != NULL;
}

const char *
argument_nth(const struct arguments *a, const char *name, size_t i)
{
	for (size_t k = 0; k < a->n_given; k++)
		if (strcmp(a->given[k].option->name, name) == 0 && i-- == 0)
			return a->given[k].value;
	return NULL;
}

static enum rs_status
refuse(const char *name, const char *value, const char *wanted)
{
	char escaped[72];

	return rs_fail(RS_EUSAGE, "%s '%s': %s", name, rs_escape(escaped, value, strlen(value)),
		wanted);
}

enum rs_status
argument_int(const struct arguments *a, const char *name, int64_t low, int64_t high, int64_t *inout)
{
	const char *value = argument(a, name);
	char    wanted[100];
	int64_t number;

	if (value == NULL)
		return RS_OK;
	snprintf(wanted, sizeof(wanted), high == INT64_MAX ? "a whole number, at least %lld, is "
		"wanted" :
		"a whole number from %lld to %lld is wanted", (long long)low, (long long)high);
	if (!number_i64(value, strlen(value), &number) || number < low || number > high)
		return refuse(name, value, wanted);
	*inout = number;
	return RS_OK;
}

enum rs_status
argument_double(const struct arguments *a, const char *name, double low, double high, double *inout)
{
	const char *value = argument(a, name);
	char   wanted[100], from[32], to[32];
	double number;

	if (value == NULL)
		return RS_OK;
	number_print_double(from, low);
	number_print_double(to, high);
	snprintf(wanted, sizeof(wanted), isinf(high) ? "a number, at least %s, is wanted" :
		"a number from %s to %s is wanted", from, to);
	if (!number_double(value, strlen(value), &number) || number < low || number > high)
		return refuse(name, value, wanted);
	*inout = number;
	return RS_OK;
}

enum rs_status
argument_seconds(const struct arguments *a, const char *name, double *inout)
{
	static const struct { char letter; double seconds; } unit[] = {
		{ 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 },
	};
	const char *value = argument(a, name);
	size_t n = value != NULL ? strlen(value) : 0;
	double factor = 1, number;

	if (value == NULL)
		return RS_OK;
	for (size_t i = 0; n > 1 && i < sizeof(unit) / sizeof(unit[0]); i++)
		if (value[n - 1] == unit[i].letter) {
			factor = unit[i].seconds;
			n--;
			break;
		}
	if (!number_double(value, n, &number) || number < 0)
		return refuse(name, value, "a duration is wanted: a number with s, m, h or d "
			"behind it");
	*inout = number * factor;
	return RS_OK;
}

int
command_json(const struct arguments *a)
{
	return argument_given(a, "--json");
}

enum rs_status
command_line_text(const struct arguments *a, struct buffer *out)
{
	for (int i = 0; i < a->argc; i++)
		RS_TRY(buffer_printf(out, "%s%s", i > 0 ? " " : "", a->argv[i]));
	return RS_OK;
}
