# Shell completions and what the build scripts share.
EXTRA_DIST += share/packages.sh
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
dist_bashcompletion_DATA =
dist_zshcompletion_DATA =
