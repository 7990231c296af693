#include "coordinator/http/pages.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "common/version.h"

namespace dt {
namespace {

HttpAnswer Overview() {
  return {
      200,
      absl::StrCat(
          "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>dtrain "
          "coordinator</title></head><body>\n<h1>dtrain coordinator</h1>\n<p>Version ",
          kVersion, " (", kRevision,
          "). It keeps experiments and places their trials on workers; <code>dtctl</code> shows "
          "them.</p>\n<ul>\n"
          "<li><a href=\"/metrics\">/metrics</a>: everything that Prometheus scrapes</li>\n"
          "<li><a href=\"/healthz\">/healthz</a>: 200 while the coordinator does its work</li>\n"
          "<li><a href=\"/readyz\">/readyz</a>: 200 once the journal is read and calls are "
          "answered</li>\n</ul>\n</body></html>\n"),
      "text/html; charset=utf-8"};
}

}  // namespace

HttpAnswer AnswerPage(std::string_view path, const Metrics& metrics,
                      const std::function<absl::Status()>& health) {
  if (path == "/metrics")
    return {200, metrics.Render(), "text/plain; version=0.0.4; charset=utf-8"};
  if (path == "/healthz") {
    const absl::Status status = health();
    return status.ok() ? HttpAnswer{200, "ok\n"}
                       : HttpAnswer{503, absl::StrCat(status.message(), "\n")};
  }
  if (path == "/readyz") {
    return metrics.Ready()
               ? HttpAnswer{200, "ok\n"}
               : HttpAnswer{
                     503, "not ready: the journal is being read, or the coordinator is stopping\n"};
  }
  if (path == "/") return Overview();
  return {404, "try /, /metrics, /healthz or /readyz\n"};
}

}  // namespace dt
