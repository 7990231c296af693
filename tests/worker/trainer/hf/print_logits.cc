// print_logits.cc: prints the logits of the trainer's model with a checkpoint's weights, for
// hf_test.py: print_logits SPEC.json MODEL.safetensors SEQ TOKENS OUT reads int64 tokens, rows of
// SEQ, and writes fp32 logits [rows, SEQ, vocab_pad].
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "checkpoint/safetensors.h"
#include "worker/trainer/model/transformer.h"
#include "worker/trainer/trial/spec.h"

namespace dt::trainer {
namespace {

std::string Content(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

absl::Status Print(char** arguments) {
  DT_ASSIGN_OR_RETURN(const TrialSpec spec,
                      ParseTrialSpec(nlohmann::json::parse(Content(arguments[1]))));
  const Transformer model(spec.model, 0, at::kCPU);
  DT_ASSIGN_OR_RETURN(const checkpoint::SafetensorsFile file,
                      checkpoint::SafetensorsFile::Open(arguments[2]));
  at::NoGradGuard no_grad;
  for (const NamedTensor& parameter : model.Parameters()) {
    const checkpoint::TensorEntry* entry = file.Find(parameter.name);
    if (entry == nullptr || entry->bytes() != parameter.tensor.nbytes()) {
      return DataError("no tensor " + parameter.name);
    }
    DT_RETURN_IF_ERROR(file.Read(*entry, parameter.tensor.mutable_data_ptr<float>()));
  }
  std::string tokens = Content(arguments[4]);
  const at::Tensor ids =
      at::from_blob(tokens.data(), {static_cast<int64_t>(tokens.size() / sizeof(int64_t))},
                    at::kLong)
          .view({-1, std::atol(arguments[3])});
  const at::Tensor logits = model.Logits(ids, /*training=*/false).contiguous();
  std::ofstream out(arguments[5], std::ios::binary);
  out.write(static_cast<const char*>(logits.const_data_ptr()),
            static_cast<std::streamsize>(logits.nbytes()));
  return absl::OkStatus();
}

}  // namespace
}  // namespace dt::trainer

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const absl::Status printed = dt::trainer::Print(arguments);
  if (!printed.ok()) std::fprintf(stderr, "%s\n", std::string(printed.message()).c_str());
  return printed.ok() ? 0 : 1;
}
