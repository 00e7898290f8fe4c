#!/usr/bin/env bash
# Builds the peers for this machine's CPU, outside the repository: llama.cpp from the source package of
# llama-cpp-python on PyPI, and a small driver around candle's quantised LFM2.
#     bash tools/peers/build.sh DIR
# Needs Python with venv, a C++ compiler, a Rust toolchain and the network. JOBS=1 builds politely.
set -euo pipefail
dir=$(mkdir -p "${1:?usage: build.sh DIR}" && cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
jobs=${JOBS:-$(nproc)}
package=0.3.36

[ -x "$dir/venv/bin/ninja" ] || {
  python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" install --quiet cmake ninja scikit-build-core
}
export PATH="$dir/venv/bin:$PATH"

src=$dir/llama.cpp
[ -d "$src" ] || {
  # The package's own build tools are not wanted, only its sources.
  pip download --quiet --no-deps --no-build-isolation --no-binary llama-cpp-python -d "$dir" \
    "llama-cpp-python==$package"
  mkdir "$dir/part"
  tar xzf "$dir/llama_cpp_python-$package.tar.gz" -C "$dir/part" --strip-components=3 \
    "llama_cpp_python-$package/vendor/llama.cpp"
  mv "$dir/part" "$src"
}
options=(-DCMAKE_BUILD_TYPE=Release -DGGML_NATIVE=ON -DGGML_OPENMP=ON -DBUILD_SHARED_LIBS=OFF -DGGML_CCACHE=OFF
  -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF
  -DLLAMA_OPENSSL=OFF)
[ -f "$dir/build/build.ninja" ] || cmake -G Ninja -B "$dir/build" -S "$src" "${options[@]}"
ninja -C "$dir/build" -j"$jobs" llama-bench llama-completion llama-tokenize
g++ -O2 -std=c++17 -I"$src/include" -I"$src/ggml/include" "$here/llama-against.cpp" -o "$dir/llama-against" \
  "$dir/build/src/libllama.a" "$dir"/build/ggml/src/libggml{,-cpu,-base}.a -fopenmp -pthread -ldl

RUSTFLAGS="-C target-cpu=native" cargo build --release --manifest-path "$here/candle/Cargo.toml" \
  --target-dir "$dir/candle-target" -j"$jobs"

ggml=$(sed -n 's/^set(GGML_VERSION_[A-Z]* \([0-9]*\)).*/\1/p' "$src/ggml/CMakeLists.txt" | paste -sd.)
cat > "$dir/versions.json" <<JSON
{"llama.cpp": {"package": "llama-cpp-python $package, ggml $ggml", "compiler": "$(g++ --version | head -1)",
  "options": "${options[*]}"},
 "candle": {"package": "candle-transformers 0.11.1", "compiler": "$(rustc --version)",
  "options": "RUSTFLAGS='-C target-cpu=native', release, thin LTO"}}
JSON
echo "built in $dir"
