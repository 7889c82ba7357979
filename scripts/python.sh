#!/usr/bin/env bash
# Prints the path of a Python with everything in requirements.txt, or in the file
# $2 beside it, in a virtual environment under the folder $1, which is made when
# it is not there. Its name is by its content, so a change of requirements makes
# a new one.
set -euo pipefail
cache=$1
wanted=$(dirname "$0")/${2:-requirements.txt}

# The first Python that is new enough for the pinned versions.
base() {
	local p
	for p in python3 python3.14 python3.13 python3.12 python3.11; do
		if "$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
			echo "$p"
			return
		fi
	done
	echo "python.sh: no Python 3.11 or newer with venv is on the path: install it (Debian: apt-get install python3-venv)" >&2
	return 1
}

python=$(base)
key=$({ "$python" --version; cat "$wanted"; } | sha256sum | cut -c1-12)
env=$cache/python-$key
if [ ! -e "$env/complete" ]; then
	rm -rf "$env"
	"$python" -m venv "$env" >&2
	"$env/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: -r "$wanted" >&2
	touch "$env/complete"
fi
echo "$env/bin/python"
