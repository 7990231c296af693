// hugging_face_fuzz.cc: any bytes as the config.json and the weights' header of a GPT-2 in Hugging
// Face's files, and as a model's fields in a manifest: refused, or every parameter once.
//
// The bytes after a 0x01 are the header; without one the input is both.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/hf_gpt2.h"
#include "checkpoint/hf_import.h"
#include "tests/testing/temp_folder.h"

namespace {

dt::checkpoint::Gpt2Shape Small() {
  dt::checkpoint::Gpt2Shape shape;
  shape.n_layer = shape.n_head = 1;
  shape.n_embd = 2;
  shape.n_ff = 4;
  shape.n_positions = 2;
  shape.vocab_size = shape.vocab_pad = 3;
  shape.activation = "gelu_new";
  return shape;
}

void Write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Returns the length, the header, and as many zeros as a model of this shape has bytes.
std::string File(const std::string& header) {
  constexpr size_t kData = 272;
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(uint64_t{header.size()} >> (8 * i));
  return bytes + header + std::string(kData, '\0');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dt::testing::TempFolder folder(dt::testing::Medium::kMemory);
  static const dt::checkpoint::Gpt2Shape shape = Small();
  const std::string all(reinterpret_cast<const char*>(data), size);
  const size_t cut = all.find('\x01');
  const std::string config = all.substr(0, cut);
  const std::string header = cut == std::string::npos ? all : all.substr(cut + 1);
  Write(folder / "config.json", config);
  Write(folder / "model.safetensors", File(header));
  const auto weights = dt::checkpoint::OpenHuggingFace(folder.path(), shape);
  if (!weights.ok() && weights.status().message().empty()) std::abort();
  if (weights.ok() && weights->matches.size() != Gpt2Tensors(shape).size()) std::abort();
  const auto model = nlohmann::json::parse(config, nullptr, false);
  if (!model.is_discarded()) dt::checkpoint::Gpt2ShapeOf(model).IgnoreError();
  return 0;
}
