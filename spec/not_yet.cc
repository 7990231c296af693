// not_yet.cc: what of an experiment no coordinator does yet.
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/search.h"

namespace dt::spec {
namespace {

// Whether a rule of stop is set, or swept, in any trial.
bool Uses(const v1::ExperimentSpec& spec, std::string_view path) {
  for (const v1::Parameter& parameter : spec.parameters()) {
    if (parameter.path() == path) return true;
  }
  const v1::Value value = GetField(spec.base(), path);
  return value.integer() != 0 || value.number() != 0;
}

}  // namespace

std::vector<Issue> NotYetAvailable(const v1::ExperimentSpec& spec) {
  std::vector<Issue> issues;
  const auto refuse = [&](const std::string& path, const std::string& word) {
    issues.push_back(
        {path, "not_available", absl::StrCat("'", path, "'", word, " is not yet available"), ""});
  };
  const v1::Search& search = spec.search();
  if (search.method() == "bayes" || search.method() == "asha") {
    refuse("search.method", absl::StrCat(" ", search.method()));
  }
  if (search.has_target()) refuse("search.target", "");
  if (search.max_failed_trials() > 0) refuse("search.max_failed_trials", "");
  for (const char* path : {"stop.patience", "stop.max_loss", "stop.median.after"}) {
    if (Uses(spec, path)) refuse(path, "");
  }
  // What messages have a place for and files may not say: other clients could.
  const v1::Resources& resources = spec.base().resources();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  resources.GetReflection()->ListFields(resources, &set);
  for (const auto* field : set) {
    const std::string path = absl::StrCat("resources.", field->name());
    if (IsReserved(path)) refuse(path, "");
  }
  return issues;
}

}  // namespace dt::spec
