#include "cli/commands/script_note.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "cli/view/words.h"
#include "common/files.h"
#include "spec/program.h"

namespace dt::cli {
namespace {

constexpr const char* kSpaces = " \t\n";
constexpr const char* kSpacesAndMarks = " \t\n;|&()'\"";  // of shells
constexpr uint64_t kScriptBytesMax = 1 << 20;  // a larger file is not a script that a person wrote

// Returns the words of `command`, or of `run`, split at the marks above.
std::vector<std::string> WordsOf(const v1::Spec& base, const char* separators) {
  if (base.run().empty()) return {base.command().begin(), base.command().end()};
  return absl::StrSplit(base.run(), absl::ByAnyChar(separators), absl::SkipEmpty());
}

bool MentionsParameters(std::string_view text) {
  for (const char* const word : {"dtrain.parameters", "DTRAIN_PARAMETERS"}) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  const size_t imported = text.find("from dtrain import ");
  if (imported == std::string_view::npos) return false;
  const std::string_view names = text.substr(imported, text.find('\n', imported) - imported);
  return names.find("parameters") != std::string_view::npos;
}

bool NamesScript(const std::string& word) {
  return absl::EndsWith(word, ".py") || absl::EndsWith(word, ".sh") || absl::StartsWith(word, "./");
}

// Returns whether the shell or a parameter changes the word, or it is not in the folder of the
// code.
bool IsUnsure(const std::string& word) {
  return word.find_first_of("{}$`'\"\\*?[]~<>|&;()=#") != std::string::npos ||
         absl::StartsWith(word, "/") || word == "cd" || word == "-c" || word == "-m";
}

// Returns the first script that the command names; "": none can be recognised.
std::string FirstScript(const v1::Spec& base) {
  for (const std::string& word : WordsOf(base, kSpaces)) {
    if (IsUnsure(word)) return "";
    if (NamesScript(word)) return word;
  }
  return "";
}

}  // namespace

std::string MissingScriptNote(const std::string& folder, const v1::Spec& base) {
  const std::string script = FirstScript(base);
  if (script.empty() || !base.workdir().empty()) return "";
  std::error_code code;
  const bool there = std::filesystem::exists(std::filesystem::path(folder) / script, code);
  if (there || code) return "";
  return absl::StrCat("Note: ", base.run().empty() ? "command" : "run", " names ",
                      Printable(script), ", and the code in ", Printable(folder),
                      " has no such file; its trials will fail.");
}

std::string UnsentScriptNote(const v1::Spec& base) {
  const std::string script = FirstScript(base);
  const bool sent = !base.code().empty() || !base.workdir().empty();
  if (sent || !(absl::EndsWith(script, ".py") || absl::EndsWith(script, ".sh"))) return "";
  return absl::StrCat("Note: ", base.run().empty() ? "command" : "run", " names ",
                      Printable(script),
                      ", and no code travels to the workers: add code: ., the folder of the file "
                      "(--code . of a sweep), or write an absolute path; its trials will fail.");
}

bool ReadsParameters(const std::string& folder, const v1::Spec& base) {
  const std::vector<std::string> words = WordsOf(base, kSpacesAndMarks);
  return std::any_of(words.begin(), words.end(), [&folder](const std::string& word) {
    const std::filesystem::path named = std::filesystem::path(folder) / word;
    std::error_code code;
    if (!std::filesystem::is_regular_file(named, code)) return false;
    const absl::StatusOr<std::string> text = ReadFile(named.string(), kScriptBytesMax);
    return text.ok() && MentionsParameters(*text);
  });
}

std::string ActiveInterpreter(const std::string& prefix, const v1::Spec& base) {
  const auto& variables = base.resources().env();
  const bool own_path = std::any_of(variables.begin(), variables.end(),
                                    [](const v1::Label& one) { return one.key() == "PATH"; });
  const v1::Environment& own = base.environment();
  const bool named = !own.python().empty() || !spec::EnvironmentKind(own).empty();
  if (prefix.empty() || prefix[0] != '/' || own_path || named) return "";
  const std::vector<std::string> words = WordsOf(base, kSpaces);
  if (words.empty() || (words[0] != "python" && words[0] != "python3")) return "";
  const std::string file = prefix + "/bin/" + words[0];
  std::error_code code;
  return std::filesystem::exists(file, code) ? file : "";
}

std::string InterpreterNote(const std::string& prefix, const v1::Spec& base) {
  const std::string file = ActiveInterpreter(prefix, base);
  if (file.empty()) return "";
  const bool command = base.run().empty();
  return absl::StrCat(
      "Note: workers look for ", file.substr(file.rfind('/') + 1),
      " in their own PATH, which need not have the environment that is active "
      "here; for its interpreter write ",
      command ? "command: [" : "run: ", Printable(file), command ? ", …]" : " …",
      " where the workers have it, or let them make one: environment: {uv: requirements.txt}. "
      "A trial's log says which one runs.");
}

}  // namespace dt::cli
