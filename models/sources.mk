librs_a_SOURCES += models/models.h models/model_list.h models/nn.h \
	models/models.c models/nn.c models/fm.c models/deepfm.c models/wide_deep.c models/din.c \
	models/two_tower.c models/dcn.c models/dlrm.c
