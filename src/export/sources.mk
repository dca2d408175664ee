librs_a_SOURCES += src/export/program.c src/export/program.h src/export/program_build.c
librs_a_SOURCES += src/export/program_run.c src/export/program_run.h
librs_a_SOURCES += src/export/lower.c src/export/lower.h src/export/lower_fields.c src/export/lower_op.c
librs_a_SOURCES += src/export/onnx.c src/export/onnx_read.c src/export/onnx.h \
	src/export/onnx_file.h src/export/onnx_nodes.c src/export/onnx_sum.c src/export/table_rows.c src/export/table_rows.h
# Written by protoc-c beside the other objects; a tarball has them.
librs_a_SOURCES += src/export/onnx.pb-c.c src/export/onnx.pb-c.h
BUILT_SOURCES += src/export/onnx.pb-c.c src/export/onnx.pb-c.h
MAINTAINERCLEANFILES += src/export/onnx.pb-c.c src/export/onnx.pb-c.h
EXTRA_DIST += src/export/onnx.proto

src/export/onnx.pb-c.c: src/export/onnx.proto
	$(AM_V_GEN)$(MKDIR_P) src/export && \
		$(PROTOC_C) --proto_path=$(srcdir)/src --c_out=src export/onnx.proto && \
		touch src/export/onnx.pb-c.h
src/export/onnx.pb-c.h: src/export/onnx.pb-c.c
	@test -f $@ || { rm -f src/export/onnx.pb-c.c && \
		$(MAKE) $(AM_MAKEFLAGS) src/export/onnx.pb-c.c; }
src/export/onnx.$(OBJEXT) src/export/onnx_read.$(OBJEXT) src/export/onnx_nodes.$(OBJEXT) \
	src/export/onnx_sum.$(OBJEXT): src/export/onnx.pb-c.h
src/export/librs_a-onnx.$(OBJEXT) src/export/librs_a-onnx_read.$(OBJEXT): src/export/onnx.pb-c.h
librs_a_SOURCES += src/export/staged.c src/export/staged.h
librs_a_SOURCES += src/export/verify.c src/export/verify.h src/export/inputs_json.c src/export/inputs_json.h
librs_a_SOURCES += src/export/arrays.c src/export/arrays.h \
	src/export/array_file.c src/export/array_file.h src/export/array_npy.c src/export/array_npz.c \
	src/export/array_safetensors.c src/export/array_text.c \
	src/export/array_proof.c src/export/array_proof.h
librs_a_SOURCES += src/export/sums.c src/export/sums.h
librs_a_SOURCES += src/export/ids.c src/export/ids.h
librs_a_SOURCES += src/export/savedmodel.c src/export/savedmodel_variables.c src/export/savedmodel_read.c src/export/savedmodel_private.h src/export/savedmodel.h src/export/tf_graph.c src/export/tf_graph.h
librs_a_SOURCES += src/export/tf_known.c src/export/tf_known.h
librs_a_SOURCES += src/export/tf_front.c src/export/tf_front.h src/export/tf_node.c src/export/tf_node.h
librs_a_SOURCES += src/export/bundle.c src/export/bundle_read.c src/export/bundle.h
librs_a_SOURCES += src/export/tf.pb-c.c src/export/tf.pb-c.h
BUILT_SOURCES += src/export/tf.pb-c.c src/export/tf.pb-c.h
MAINTAINERCLEANFILES += src/export/tf.pb-c.c src/export/tf.pb-c.h
EXTRA_DIST += src/export/tf.proto

src/export/tf.pb-c.c: src/export/tf.proto
	$(AM_V_GEN)$(MKDIR_P) src/export && \
		$(PROTOC_C) --proto_path=$(srcdir)/src --c_out=src export/tf.proto && \
		touch src/export/tf.pb-c.h
src/export/tf.pb-c.h: src/export/tf.pb-c.c
	@test -f $@ || { rm -f src/export/tf.pb-c.c && \
		$(MAKE) $(AM_MAKEFLAGS) src/export/tf.pb-c.c; }
src/export/savedmodel.$(OBJEXT) src/export/savedmodel_variables.$(OBJEXT) src/export/tf_graph.$(OBJEXT): src/export/tf.pb-c.h
src/export/tf_front.$(OBJEXT) src/export/tf_node.$(OBJEXT) src/export/savedmodel_read.$(OBJEXT): src/export/tf.pb-c.h
src/export/bundle.$(OBJEXT) src/export/bundle_read.$(OBJEXT): src/export/tf.pb-c.h
librs_a_SOURCES += src/export/tensorboard.c src/export/tensorboard.h
librs_a_SOURCES += src/export/tf_event.pb-c.c src/export/tf_event.pb-c.h
BUILT_SOURCES += src/export/tf_event.pb-c.c src/export/tf_event.pb-c.h
MAINTAINERCLEANFILES += src/export/tf_event.pb-c.c src/export/tf_event.pb-c.h
EXTRA_DIST += src/export/tf_event.proto

src/export/tf_event.pb-c.c: src/export/tf_event.proto
	$(AM_V_GEN)$(MKDIR_P) src/export && \
		$(PROTOC_C) --proto_path=$(srcdir)/src --c_out=src export/tf_event.proto && \
		touch src/export/tf_event.pb-c.h
src/export/tf_event.pb-c.h: src/export/tf_event.pb-c.c
	@test -f $@ || { rm -f src/export/tf_event.pb-c.c && \
		$(MAKE) $(AM_MAKEFLAGS) src/export/tf_event.pb-c.c; }
src/export/tensorboard.$(OBJEXT): src/export/tf_event.pb-c.h
librs_a_SOURCES += src/export/explain.c src/export/explain.h
