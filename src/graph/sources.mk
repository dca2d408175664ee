librs_a_SOURCES += src/graph/graph.h src/graph/op_table.h src/graph/node.h src/graph/plan.h \
	src/graph/norm.h src/graph/graph.c src/graph/axes.c src/graph/fields.c src/graph/plan.c src/graph/exec.c src/graph/exec_size.c src/graph/row_grads.c \
	src/graph/mirror.h src/graph/mirror.c src/graph/replay.h src/graph/replay.c \
	src/graph/norm.c src/graph/op_embedding.c src/graph/op_first_order.c src/graph/op_fm2.c \
	src/graph/op_bag_pairs.c src/graph/product.h src/graph/product.c src/graph/layer.h src/graph/layer.c src/graph/fold.h src/graph/fold.c src/graph/op_product.c \
	src/graph/op_cross_v1.c src/graph/op_cross_v2.c src/graph/op_gate.c src/graph/op_dots.c \
	src/graph/op_numeric.c src/graph/op_linear.c src/graph/op_activation.c \
	src/graph/op_dice.c src/graph/op_batch_norm.c src/graph/op_dropout.c src/graph/op_add.c \
	src/graph/op_concat.c src/graph/op_l2_normalize.c src/graph/op_similarity.c \
	src/graph/op_history.c src/graph/op_attention_first.c \
	src/graph/op_segment_softmax.c src/graph/op_segment_pool.c
