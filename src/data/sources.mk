librs_a_SOURCES += src/data/batch.h src/data/fit.h src/data/loader.h src/data/parser.h src/data/schema.h src/data/source.h 
librs_a_SOURCES += src/data/range.c src/data/range.h
librs_a_SOURCES += src/data/source.c src/data/source_private.h
librs_a_SOURCES += src/data/source_ahead.c
librs_a_SOURCES += src/data/source_command.c
librs_a_SOURCES += src/data/source_expand.c
librs_a_SOURCES += src/data/source_gzip.c
librs_a_SOURCES += src/data/source_view.c
librs_a_SOURCES += src/data/loader.c src/data/loader_each.c src/data/loader_private.h
librs_a_SOURCES += src/data/loader_index.c src/data/loader_cache.c
librs_a_SOURCES += src/data/cache.c src/data/cache.h
librs_a_SOURCES += src/data/cache_rows.c src/data/cache_rows.h
librs_a_SOURCES += src/data/loader_plan.c
librs_a_SOURCES += src/data/loader_ranges.c
librs_a_SOURCES += src/data/loader_span.c
librs_a_SOURCES += src/data/loader_window.c
librs_a_SOURCES += src/data/content_hash.c src/data/content_hash.h
librs_a_SOURCES += src/data/fit.c
librs_a_SOURCES += src/data/schema.c
librs_a_SOURCES += src/data/row_column.c src/data/row_column.h
librs_a_SOURCES += src/data/row_time.c src/data/row_time.h
librs_a_SOURCES += src/data/batch.c src/data/batch_rows.c src/data/batch_rows.h
librs_a_SOURCES += src/data/batch_bytes.c src/data/batch_bytes.h
librs_a_SOURCES += src/data/feature.c src/data/feature.h src/data/id_hash.h src/data/fast_cell.h
librs_a_SOURCES += src/data/hash_stack.h
librs_a_SOURCES += src/data/label.c src/data/label.h
librs_a_SOURCES += src/data/parser.c src/data/parser_private.h
librs_a_SOURCES += src/data/parser_cells.c src/data/parser_layout.c src/data/parser_values.c
librs_a_SOURCES += src/data/span_index.c
librs_a_SOURCES += src/data/parser_block.c
librs_a_SOURCES += src/data/cell_words.c src/data/cell_words.h
librs_a_SOURCES += src/data/cross.c src/data/cross.h src/data/history.c src/data/history.h
librs_a_SOURCES += src/data/delimited.c
librs_a_SOURCES += src/data/sparse.c
librs_a_SOURCES += src/data/lists.c
librs_a_SOURCES += src/data/catalogue.c src/data/catalogue_build.c src/data/catalogue_file.c src/data/catalogue.h
librs_a_SOURCES += src/data/sampler.c src/data/sampler.h
librs_a_SOURCES += src/data/sampler_table.c src/data/sampler_table.h
librs_a_SOURCES += src/data/tfrecord.c src/data/tfrecord.h src/data/example.c src/data/example.h
librs_a_SOURCES += src/data/example_wire.c src/data/example_wire.h
# Written by protoc-c beside the other objects; a tarball has them.
librs_a_SOURCES += src/data/tf_example.pb-c.c src/data/tf_example.pb-c.h
BUILT_SOURCES += src/data/tf_example.pb-c.c src/data/tf_example.pb-c.h
MAINTAINERCLEANFILES += src/data/tf_example.pb-c.c src/data/tf_example.pb-c.h
EXTRA_DIST += src/data/tf_example.proto

src/data/tf_example.pb-c.c: src/data/tf_example.proto
	$(AM_V_GEN)$(MKDIR_P) src/data && \
		$(PROTOC_C) --proto_path=$(srcdir)/src --c_out=src data/tf_example.proto && \
		touch src/data/tf_example.pb-c.h
src/data/tf_example.pb-c.h: src/data/tf_example.pb-c.c
	@test -f $@ || { rm -f src/data/tf_example.pb-c.c && \
		$(MAKE) $(AM_MAKEFLAGS) src/data/tf_example.pb-c.c; }
src/data/librs_a-example.$(OBJEXT): src/data/tf_example.pb-c.h
src/data/librs_a-example_wire.$(OBJEXT): src/data/tf_example.pb-c.h
