#!/bin/sh
# A step that is good to have: when the models have no room (75) or cannot be reached
# (69), the build gets a notice and stays green. Everything else is told as it is.
#
#   sh notice.sh "say in three sentences what changed since the last tag"
set -eu
code=0
belay run --max-wait "${MAX_WAIT:-10m}" -- "$1" >answer.md || code=$?
case $code in
0)
	cat answer.md
	;;
69 | 75)
	if [ -n "${GITHUB_ACTIONS:-}" ]; then
		echo "::notice title=belay::The models had no room, so this step was left out (exit code $code)."
	else
		echo "notice: the models had no room, so this step was left out (exit code $code)" >&2
	fi
	;;
*)
	exit "$code"
	;;
esac
