// diagnostics.cc: prints errors of a file as compilers do.
#include "spec/file/diagnostics.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/columns.h"
#include "common/limits.h"
#include "common/text.h"

namespace dt::spec {
namespace {

// A screen or two; a file with more has the same error again and again.
constexpr size_t kDiagnosticsMax = 100;
// A long source line is cut to the part that fits beside the caret on a terminal.
constexpr size_t kShownBefore = 60;
constexpr size_t kShown = 110;

bool Continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// Returns the field or section that holds `path`.
std::string Enclosing(const std::string& path) {
  const size_t end = path.find_last_of(".[");
  if (end == std::string::npos) return "";
  std::string parent = path.substr(0, end);
  // Names under parameters contain dots: "parameters.optimizer.lr" is in "parameters".
  if (path[end] == '.' && parent.compare(0, 11, "parameters.") == 0) return "parameters";
  return parent;
}

void AppendSource(const Diagnostic& diagnostic, std::string& out) {
  std::string line = diagnostic.source_line;
  std::replace(line.begin(), line.end(), '\t', ' ');
  size_t column = std::min(static_cast<size_t>(std::max(diagnostic.column, 1)) - 1, line.size());
  std::string ahead;  // marks a cut on the left
  size_t cut = 0;
  if (line.size() > kShown && column > kShownBefore) {
    cut = column - kShownBefore;
    while (cut < line.size() && Continues(line[cut])) ++cut;
    column -= cut;
    ahead = "…";
  }
  line = line.substr(cut, 8 * kShown);  // in bytes, of which a column may have eight
  const int before = DisplayWidth(ahead) + DisplayWidth(Printable(line.substr(0, column)));
  const std::string enclosing = Enclosing(diagnostic.path);
  absl::StrAppend(&out, absl::StrFormat("%5d | ", diagnostic.line), ahead,
                  Truncate(Printable(line), static_cast<int>(kShown)), "\n      | ",
                  std::string(before, ' '), "^",
                  enclosing.empty() ? "" : absl::StrCat(" in ", Printable(enclosing)), "\n");
}

std::string SourceLine(std::string_view text, int line) {
  for (int i = 1; i < line; ++i) {
    const size_t newline = text.find('\n');
    if (newline == std::string_view::npos) return "";
    text.remove_prefix(newline + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.size() > limits::kQuotedLineBytes) return "";
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
    const bool not_quoted = diagnostic.source_line.empty() && diagnostic.column > 1;
    if (diagnostic.line > 0 && !not_quoted) AppendSource(diagnostic, out);
  }
  return out;
}

}  // namespace dt::spec
