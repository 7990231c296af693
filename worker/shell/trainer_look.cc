// trainer_look.cc: see trainer_look.h.
#include "worker/shell/trainer_look.h"

#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "common/limits.h"
#include "common/read_output.h"
#include "common/text.h"
#include "common/trainer_limits.h"
#include "worker/starter/install_form.h"
#include "worker/starter/torch_choice.h"

namespace dt {
namespace {

constexpr size_t kListBytes = 256 << 10;
constexpr size_t kNamed = 3;  // of missing libraries

// Returns the libraries that were not found, with commas between them.
std::string Missing(const std::vector<absl::string_view>& lines) {
  std::vector<std::string> missing;
  for (absl::string_view line : lines) {
    if (!absl::ConsumeSuffix(&line, " => not found")) continue;
    missing.emplace_back(absl::StripAsciiWhitespace(line));
  }
  if (missing.size() > kNamed) {
    const size_t more = missing.size() - kNamed;
    missing.resize(kNamed);
    missing.push_back(absl::StrCat(more, " more"));
  }
  return absl::StrJoin(missing, ", ");
}

// Returns the first symbol that the program itself does not find in its libraries; "" if none.
absl::string_view FirstUndefined(const std::vector<absl::string_view>& lines,
                                 absl::string_view program) {
  for (absl::string_view line : lines) {
    if (!absl::ConsumePrefix(&line, "undefined symbol: ")) continue;
    const size_t end = line.find_first_of("\t ,");
    if (absl::EndsWith(line, absl::StrCat("(", program, ")"))) return line.substr(0, end);
  }
  return {};
}

// Returns what to do about a trainer that is not at `path`. Beside this program, its installation
// lacks one; elsewhere a person named it.
std::string MissingFix(const std::string& path) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error || std::filesystem::path(path).parent_path() != own.parent_path()) {
    return "install dttrain there, or name it with --trainer";
  }
  return absl::StrCat(TrainerFix(FactsOf(own.string())), "; or name another with --trainer");
}

// Returns what to do so that the trainer at `path` finds LibTorch.
std::string LibTorchFix(const std::string& path) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::canonical(path, error);
  return TorchFix(FactsOf(error ? path : own.string()), {});
}

}  // namespace

std::string FaultInList(std::string_view list, std::string_view program) {
  const absl::string_view text(list.data(), list.size());
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const std::string missing = CleanText(Missing(lines), limits::kHintBytes);
  if (!missing.empty()) {
    return absl::StrCat("its dttrain does not find ", missing, "; install LibTorch on its host");
  }
  const absl::string_view symbol =
      FirstUndefined(lines, absl::string_view(program.data(), program.size()));
  if (symbol.empty()) return {};
  return absl::StrCat("its dttrain was built for another LibTorch than it finds (which has no ",
                      CleanText(std::string(symbol), limits::kHintBytes),
                      "); install the version that it names on its host");
}

std::optional<std::string> WhyNoTrainer(const std::string& path, absl::Duration patience) {
  if (access(path.c_str(), X_OK) != 0) {
    return CleanText(absl::StrCat("there is no program ", path, "; ", MissingFix(path)),
                     limits::kTextBytes);
  }
  SpawnOptions options;
  options.path = path;
  // With these the loader lists libraries and missing symbols, and does not start the program
  // (ldd -r).
  Environment variables = {
      {"LD_TRACE_LOADED_OBJECTS", "1"}, {"LD_WARN", "1"}, {"LD_BIND_NOW", "1"}};
  if (const std::optional<TrainerChoice> choice = TrainerStartedBy(path)) {
    if (choice->program.empty()) return CleanText(choice->fault, limits::kTextBytes);
    options.path = choice->program;
    variables["LD_LIBRARY_PATH"] = LibraryPathFor(*choice);
  }
  options.environment = EnvironmentWith(variables);
  const ProgramOutput list = ReadOutput(options, kListBytes, patience, StandardError::kRead);
  if (!list.ended && list.text.size() < kListBytes) return std::nullopt;
  std::string fault = FaultInList(list.text, options.path);
  if (fault.empty()) return fault;
  return CleanText(absl::StrCat(fault, ": ", LibTorchFix(options.path)), limits::kTextBytes);
}

}  // namespace dt
