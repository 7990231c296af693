// process_facts.cc: see process_facts.h.
#include "common/process_facts.h"

#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/files.h"

namespace dt {
namespace {

std::string Trimmed(std::string text) {
  absl::StripAsciiWhitespace(&text);
  return text;
}

}  // namespace

std::string ProcessName(pid_t pid) {
  return Trimmed(ReadKernelFile(absl::StrCat("/proc/", pid, "/comm")));
}

std::string ProcessFact(pid_t pid, std::string_view line) {
  const std::string text = "\n" + ReadKernelFile(absl::StrCat("/proc/", pid, "/status"));
  const std::string begin = absl::StrCat("\n", std::string(line), ":");
  const size_t found = text.find(begin);
  if (found == std::string::npos) return "";
  const size_t from = found + begin.size();
  return Trimmed(text.substr(from, text.find('\n', from) - from));
}

bool HasSignal(pid_t pid, std::string_view mask, int signal) {
  const uint64_t bits = std::strtoull(ProcessFact(pid, mask).c_str(), nullptr, 16);
  return ((bits >> (signal - 1)) & 1U) != 0;
}

}  // namespace dt
