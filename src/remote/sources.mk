librs_a_SOURCES += src/remote/body.h src/remote/parts.h src/remote/shard.h src/remote/lookup.h
librs_a_SOURCES += src/remote/collect.h src/remote/collect.c
librs_a_SOURCES += src/remote/collect_request.h src/remote/collect_request.c
librs_a_SOURCES += src/remote/body.c src/remote/parts.c
librs_a_SOURCES += src/remote/lookup.c src/remote/lookup_private.h
librs_a_SOURCES += src/remote/lookup_ids.c src/remote/lookup_pull.c src/remote/lookup_push.c
librs_a_SOURCES += src/remote/lookup_wire.c src/remote/lookup_files.c
librs_a_SOURCES += src/remote/lookup_walk.c src/remote/lookup_walk.h src/remote/lookup_entries.c
librs_a_SOURCES += src/remote/lookup_residual.c src/remote/lookup_residual.h src/remote/lookup_rest.c
librs_a_SOURCES += src/remote/lookup_waiting.c src/remote/shard_waiting.c
librs_a_SOURCES += src/remote/lookup_changes.c src/remote/shard_changes.c
librs_a_SOURCES += src/remote/shard.c src/remote/shard_private.h src/remote/shard_apply.c \
	src/remote/shard_chunk.c src/remote/shard_crew.c src/remote/shard_init.c \
	src/remote/shard_hold.c src/remote/shard_journal.c src/remote/shard_replay.c \
	src/remote/shard_copy.c src/remote/shard_keeper.c src/remote/shard_fetch.c src/remote/shard_undo.c \
	src/remote/shard_park.c src/remote/shard_pool.c src/remote/shard_pull.c \
	src/remote/shard_push.c src/remote/shard_reader.c src/remote/shard_rows.c \
	src/remote/shard_section.c
librs_a_SOURCES += src/remote/offer.c src/remote/offer.h
librs_a_SOURCES += src/remote/journal.h src/remote/journal_private.h src/remote/journal.c \
	src/remote/journal_file.c src/remote/journal_read.c
