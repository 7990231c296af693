// diagnostics.cc: what is wrong with a file, as compilers print it.
#include "cli/file/diagnostics.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace dt::cli {
namespace {

// A screen or two; a file with more is wrong in the same way again and again.
constexpr size_t kDiagnosticsMax = 100;
// Of a long source line, what fits beside the caret on a terminal.
constexpr size_t kShownBefore = 60;
constexpr size_t kShown = 110;

// Terminals obey control characters; a file must not.
std::string Printable(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c1 =
        byte == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f || c1) {
      absl::StrAppend(&out, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      out += text[i];
    }
  }
  return out;
}

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// The field or section that holds `path`.
std::string Enclosing(const std::string& path) {
  const size_t end = path.find_last_of(".[");
  if (end == std::string::npos) return "";
  std::string parent = path.substr(0, end);
  // Names under parameters hold dots: "parameters.optimizer.lr" stands in "parameters".
  if (path[end] == '.' && parent.compare(0, 11, "parameters.") == 0) return "parameters";
  return parent;
}

void AppendSource(const Diagnostic& diagnostic, std::string& out) {
  std::string line = diagnostic.source_line;
  std::replace(line.begin(), line.end(), '\t', ' ');
  size_t column = std::min(static_cast<size_t>(std::max(diagnostic.column, 1)) - 1, line.size());
  std::string ahead;  // marks what is cut off on the left; one column wide
  if (line.size() > kShown && column > kShownBefore) {
    size_t cut = column - kShownBefore;
    while (cut < line.size() && Continues(line[cut])) ++cut;
    line = line.substr(cut);
    column -= cut;
    ahead = "…";
  }
  std::string behind;
  if (line.size() > kShown) {
    size_t end = kShown;
    while (end > 0 && Continues(line[end])) --end;
    line.resize(end);
    behind = "…";
  }
  const size_t before = static_cast<size_t>(std::count_if(
      line.begin(), line.begin() + static_cast<std::ptrdiff_t>(std::min(column, line.size())),
      [](char c) { return !Continues(c); }));
  const std::string enclosing = Enclosing(diagnostic.path);
  absl::StrAppend(&out, absl::StrFormat("%5d | ", diagnostic.line), ahead, Printable(line), behind,
                  "\n      | ", std::string(before + (ahead.empty() ? 0 : 1), ' '), "^",
                  enclosing.empty() ? "" : absl::StrCat(" in ", Printable(enclosing)), "\n");
}

std::string SourceLine(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return "";
    text.remove_prefix(newline + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

std::string Word(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

std::vector<Diagnostic> ToDiagnostics(std::vector<YamlProblem> problems, Severity severity,
                                      std::string_view text, std::string_view file_name,
                                      const std::vector<std::string>& overrides) {
  std::stable_sort(problems.begin(), problems.end(),
                   [](const YamlProblem& a, const YamlProblem& b) {
                     return std::tie(a.mark.source, a.mark.line, a.mark.column) <
                            std::tie(b.mark.source, b.mark.line, b.mark.column);
                   });
  std::vector<Diagnostic> out;
  for (YamlProblem& problem : problems) {
    if (out.size() == kDiagnosticsMax) {
      out.push_back({severity, std::string(file_name), 0, 0, "", "too_many",
                     absl::StrCat(problems.size() - kDiagnosticsMax, " more ", Word(severity),
                                  "s are not shown"),
                     "", ""});
      break;
    }
    Diagnostic diagnostic{severity,
                          std::string(file_name),
                          0,
                          0,
                          std::move(problem.path),
                          std::move(problem.code),
                          std::move(problem.message),
                          std::move(problem.hint),
                          ""};
    if (problem.mark.source > 0) {
      diagnostic.file =
          absl::StrCat("--set ", overrides[static_cast<size_t>(problem.mark.source) - 1]);
    } else {
      diagnostic.line = problem.mark.line;
      diagnostic.column = problem.mark.column;
      diagnostic.source_line = SourceLine(text, problem.mark.line);
    }
    out.push_back(std::move(diagnostic));
  }
  return out;
}

std::string RenderDiagnostics(const std::vector<Diagnostic>& diagnostics) {
  std::string out;
  for (const Diagnostic& diagnostic : diagnostics) {
    out += Printable(diagnostic.file);
    if (diagnostic.line > 0) {
      absl::StrAppend(&out, ":", diagnostic.line, ":", diagnostic.column);
    }
    absl::StrAppend(&out, ": ", Word(diagnostic.severity), ": ", Printable(diagnostic.message));
    if (!diagnostic.hint.empty()) absl::StrAppend(&out, "; ", Printable(diagnostic.hint));
    out += "\n";
    if (diagnostic.line > 0) AppendSource(diagnostic, out);
  }
  return out;
}

}  // namespace dt::cli
