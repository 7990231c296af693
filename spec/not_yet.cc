// not_yet.cc: what of an experiment no coordinator does yet.
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "spec/search.h"

namespace dt::spec {

std::vector<Issue> NotYetAvailable(const v1::ExperimentSpec& spec) {
  std::vector<Issue> issues;
  // What messages have a place for and files may not say: other clients could.
  const v1::Resources& resources = spec.base().resources();
  std::vector<const google::protobuf::FieldDescriptor*> set;
  resources.GetReflection()->ListFields(resources, &set);
  for (const auto* field : set) {
    const std::string path = absl::StrCat("resources.", field->name());
    if (!IsReserved(path)) continue;
    issues.push_back(
        {path, "not_available", absl::StrCat("'", path, "' is not yet available"), ""});
  }
  return issues;
}

}  // namespace dt::spec
