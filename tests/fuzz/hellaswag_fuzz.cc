// hellaswag_fuzz.cc: any bytes as a HellaSwag file, of JSON lines or of tokens: refused, or
// examples whose ids are in the vocabulary.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "corpus/hellaswag.h"
#include "tests/testing/temp_folder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const dt::testing::TempFolder folder;
  static dt::corpus::TextCodec codec;
  const std::string path = folder / "hellaswag";
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  constexpr int64_t kVocabulary = 257;
  const auto examples = dt::corpus::ReadHellaSwag(path, &codec, kVocabulary);
  if (!examples.ok()) return 0;
  for (const auto& example : *examples) {
    if (example.label < 0 || example.label >= dt::corpus::kHellaSwagEndings) std::abort();
    for (const auto& ending : example.endings) {
      if (ending.empty()) std::abort();
      for (const uint16_t id : ending) {
        if (id >= kVocabulary) std::abort();
      }
    }
  }
  return 0;
}
