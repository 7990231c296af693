// documents_fuzz.cc: any bytes as a line of documents in JSON, and as the record of a shard's
// tokenizer: refused, or a text that is in the line, or a record that is written and read back the
// same.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "corpus/json_lines.h"
#include "corpus/tokenizer_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = dt::corpus::TextOfJsonLine(text, "text");
  // An escape never yields more bytes than it has.
  if (document.ok() && document->size() > text.size()) std::abort();
  const auto record = dt::corpus::ParseRecord(text);
  if (record.ok() && dt::corpus::ParseRecord(dt::corpus::RecordText(*record)) != record) {
    std::abort();
  }
  return 0;
}
