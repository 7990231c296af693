// mark_fuzz.cc: any bytes as the journal's mark: refused, or a mark that is written and read back
// the same beside the file's other contents.
//
// A random text never has the right checksum, so each input is also tried as a mark's contents.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "coordinator/store/checksum.h"
#include "coordinator/store/mark.h"
#include "tests/testing/temp_folder.h"

namespace {

void Check(const std::string& text) {
  static const dt::testing::TempFolder folder(dt::testing::Medium::kMemory);
  const std::string path = folder / "journal.mark";
  std::ofstream(path, std::ios::binary)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  const auto mark = dt::ReadMark(path);
  if (!mark.has_value()) return;
  auto file = dt::MarkFile::Open(path);
  if (!file.ok() || !file->Write(*mark).ok()) std::abort();
  if (dt::ReadMark(path) != mark) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Check(text);
  const std::string line = "dtrain-mark-1 " + text;
  Check(line + " " + std::to_string(dt::Checksum().Add(line).Sum()) + "\n");
  return 0;
}
