/* Sections of pulls and pushes, before anything of them is believed. */
#include "remote/shard_private.h"

enum rs_status
shard_section_check(const struct shard *s, const struct body_section *section,
	const struct body_section *before, const uint8_t *keys)
{
	const struct shard_table *table, *other;

	RS_TRY(shard_find_table(s, section->table, &table));
	if (!shard_section_is_twin(section))
		return body_get_keys(keys, section->key_bytes, section->n, table->begin,
			table->end, NULL);
	if (before == NULL || before->n != section->n)
		return rs_fail(RS_EPROTOCOL, "table '%s': a section without keys", table->name);
	RS_TRY(shard_find_table(s, before->table, &other));
	if (other->begin != table->begin || other->end != table->end || other->kind != table->kind)
		return rs_fail(RS_EPROTOCOL, "tables '%s' and '%s' are no twins", other->name,
			table->name);
	return RS_OK;
}

void
shard_section_keys(const struct shard *s, const struct body_section *section,
	const uint8_t *keys, uint64_t *ids)
{
	const struct shard_table *table = &s->table[section->table];

	(void)body_get_keys(keys, section->key_bytes, section->n, table->begin, table->end, ids);
	for (size_t i = 0; i < section->n; i++)
		ids[i] += table->begin;
}

enum rs_status
shard_section_check_counts(const struct shard *s, const struct body_section *section,
	const uint8_t *counts)
{
	const struct shard_table *table = &s->table[section->table];

	if (table->kind == TABLE_EXACT)
		return body_get_counts(counts, section->count_bytes, section->n, NULL);
	if (section->count_bytes > 0)
		return rs_fail(RS_EPROTOCOL, "counts of table '%s', which is hashed", table->name);
	return RS_OK;
}
