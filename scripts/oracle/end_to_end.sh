#!/usr/bin/env bash
# Compares the lengths of whole prompts, chat template and all, with those of
# the reference libraries: 5 atoms, 305 lengths, for the families $3… of models
# or all of them ("today" is one of them, another each day). $1 is a Python with
# requirements.txt, $2 a folder to keep things in.
set -euo pipefail
python=$1
cache=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)

# Families whose chat template comes with the vocabulary, or with the tests of
# the interpreter of templates.
all=(qwen3 llama3 gemma3 deepseek3 gptoss smollm2 mistral)
case ${1:-} in
"") families=("${all[@]}") ;;
today) families=("${all[$((10#$(date -u +%j) % ${#all[@]}))]}") ;;
*) families=("$@") ;;
esac
for i in "${!families[@]}"; do
	case " ${all[*]} " in
	*" ${families[$i]} "*) ;;
	*)
		echo "end_to_end: ${families[$i]} comes without a chat template: left out" >&2
		unset "families[$i]"
		;;
	esac
done
[ ${#families[@]} -gt 0 ] || exit 0
case " ${families[*]} " in *" smollm2 "*) "$here/../models.sh" "$python" "$cache/models" ;; esac
"$python" "$here/vocabularies.py" "$cache/oracle" "$cache/models" "${families[@]}"
cd "$here/../.."
templates=$(go list -m -f '{{.Dir}}' github.com/ardanlabs/jinja)/testdata/templates
"$python" "$here/end_to_end.py" "$cache/oracle" "$cache/models" "$templates" "$cache/prompts" "${families[@]}"
folders=("${families[@]/#/$cache/prompts/}")
export TOKWATT_ORACLE_PROMPTS
TOKWATT_ORACLE_PROMPTS=$(IFS=:; echo "${folders[*]}")
go test -count=1 -timeout 30m -v -run '^TestEndToEnd' -bench '^BenchmarkSize' ./collect/prompt
