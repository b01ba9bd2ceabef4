#!/bin/sh
# The tasks of a night, each in a git worktree of its own. What a night did not finish,
# because the machine or belay was ended, goes on at the next call.
#
#   17 2 * * *  cd ~/src/shop && sh nightly.sh tasks.toml
#
# PAUSE  how long to wait before what failed is tried again, in seconds (3600)
#
# What came of it is in night.html, lines for programs in night.jsonl; the changes of a
# task: belay batch logs --patch TASK. The exit code is that of belay batch.
set -eu
begun=.belay-night
code=0
if [ -e "$begun" ]; then
	belay batch --resume --report night.html >>night.jsonl || code=$?
else
	: >"$begun"
	belay batch --worktree --lane batch --report night.html "$1" >night.jsonl || code=$?
fi
case $code in
0 | 2 | 130) ;;
*)
	sleep "${PAUSE:-3600}"
	code=0
	belay batch --retry-failed --report night.html >>night.jsonl || code=$?
	;;
esac
[ "$code" -eq 130 ] || rm -f "$begun"
exit "$code"
