#!/usr/bin/env bash
# Prints the path of a libmlxc, MLX with the interface of mlx-c, under the folder
# $1; makes it when it is not there. It is a wheel of MLX, version $2 (0.32.2),
# and the few hundred lines of mlx/internal/capi/shim, compiled against the
# wheel's headers. The folder's name is by the version and those lines. On Linux
# MLX computes on the CPU, on a Mac with Metal.
set -euo pipefail
cache=$1
version=${2:-0.32.2}
source=$(cd "$(dirname "$0")/../mlx/internal/capi/shim" && pwd)/mlxc.cpp
python=${PYTHON:-python3}

case $(uname -s) in
Linux) wheel=mlx-cpu name=libmlxc.so ;;
Darwin) wheel=mlx-metal name=libmlxc.dylib ;;
*) echo "mlx-lib.sh: MLX comes for Linux and macOS, and this is $(uname -s)" >&2; exit 1 ;;
esac
compiler=${CXX:-$(command -v g++ || command -v clang++ || true)}
if [ -z "$compiler" ]; then
	echo "mlx-lib.sh: no C++ compiler is on the path: install one (Debian: apt-get install g++; a Mac: xcode-select --install)" >&2
	exit 1
fi

key=$(cat "$source" "$0" | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-12)
dir=$cache/mlx-$version-$key
if [ ! -e "$dir/complete" ]; then
	rm -rf "$dir"
	mkdir -p "$dir"
	"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: -d "$dir" "$wheel==$version" >&2
	"$python" -m zipfile -e "$dir"/*.whl "$dir" >&2
	rm "$dir"/*.whl
	# The library stands beside libmlx and finds it there, wherever the
	# folder is moved. The prefix map keeps this machine's paths out of it.
	flags=(-std=c++20 -O2 -fPIC -shared "-ffile-prefix-map=$(dirname "$source")=." "-ffile-prefix-map=$dir=." -isystem "$dir/mlx/include" "-L$dir/mlx/lib" -lmlx)
	case $name in
	*.so) flags+=(-Wl,-rpath,'$ORIGIN' -Wl,--no-undefined -Wl,-soname,"$name") ;;
	*.dylib) flags+=(-Wl,-rpath,@loader_path -Wl,-install_name,"@rpath/$name") ;;
	esac
	"$compiler" "$source" "${flags[@]}" -o "$dir/mlx/lib/$name" >&2
	rm -rf "$dir/mlx/include" "$dir/mlx/share"
	touch "$dir/complete"
fi
echo "$dir/mlx/lib/$name"
