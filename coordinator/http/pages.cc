#include "coordinator/http/pages.h"

#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "common/sha256.h"
#include "common/version.h"
#include "coordinator/http/page_files.h"

namespace dt {
namespace {

constexpr char kFirst[] = "index.html";
constexpr size_t kTagDigits = 32;

const char* TypeOf(absl::string_view name) {
  if (absl::EndsWith(name, ".html")) return "text/html; charset=utf-8";
  if (absl::EndsWith(name, ".css")) return "text/css; charset=utf-8";
  if (absl::EndsWith(name, ".js")) return "text/javascript; charset=utf-8";
  return "image/svg+xml";
}

std::map<std::string, HttpAnswer> MakeFiles() {
  std::map<std::string, HttpAnswer> files;
  for (const PageFile& file : PageFiles()) {
    const std::string name(file.name);
    HttpAnswer& answer = files[name];
    answer.type = TypeOf(name);
    answer.body =
        name == kFirst
            ? absl::StrReplaceAll(std::string(file.text),
                                  {{"@VERSION@", absl::StrCat(kVersion, " (", kRevision, ")")}})
            : std::string(file.text);
    Sha256 sum;
    sum.Update(answer.body);
    answer.etag = absl::StrCat("\"", sum.FinishHex().substr(0, kTagDigits), "\"");
  }
  return files;
}

// Returns the page's file at this path, or nullptr.
const HttpAnswer* FindFile(absl::string_view path) {
  static const auto* const files = new std::map<std::string, HttpAnswer>(MakeFiles());
  if (path == "/") return &files->at(kFirst);
  if (!absl::ConsumePrefix(&path, "/page/")) return nullptr;
  const auto found = files->find(std::string(path));
  return found == files->end() ? nullptr : &found->second;
}

}  // namespace

HttpAnswer AnswerPage(std::string_view path, const Metrics& metrics,
                      const std::function<absl::Status()>& health) {
  if (path == "/metrics")
    return {200, metrics.Render(), "text/plain; version=0.0.4; charset=utf-8", ""};
  if (path == "/healthz") {
    const absl::Status status = health();
    return status.ok() ? HttpAnswer{200, "ok\n"}
                       : HttpAnswer{503, absl::StrCat(status.message(), "\n")};
  }
  if (path == "/readyz") {
    return metrics.Ready()
               ? HttpAnswer{200, "ok\n"}
               : HttpAnswer{
                     503,
                     "not ready: the journal is being read, its database does not answer, or the "
                     "coordinator is stopping\n"};
  }
  if (const HttpAnswer* file = FindFile({path.data(), path.size()})) return *file;
  return {404, "try /, /metrics, /healthz, /readyz or /api/v1/status\n"};
}

}  // namespace dt
