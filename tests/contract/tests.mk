dist_check_SCRIPTS += \
	tests/contract/cuda_test.sh \
	tests/contract/install_test.sh \
	tests/contract/layers_test.sh \
	tests/contract/man_test.sh \
	tests/contract/onednn_test.sh \
	tests/contract/style_test.sh \
	tests/contract/symbols_test.sh \
	tests/contract/tarball_test.sh
EXTRA_DIST += tests/contract/symbols tests/contract/configured.sh
