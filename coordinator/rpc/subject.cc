#include "coordinator/rpc/subject.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"

namespace dt {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

const FieldDescriptor* FindField(const Message& message, const char* name) {
  return message.GetDescriptor()->FindFieldByName(name);
}

std::string TextOf(const Message& message, const FieldDescriptor* field) {
  return field == nullptr ? "" : message.GetReflection()->GetString(message, field);
}

}  // namespace

void SetWho(Message& request, const std::string& who) {
  const FieldDescriptor* field = FindField(request, "who");
  if (field != nullptr) request.GetReflection()->SetString(&request, field, who);
}

std::string SubjectOf(const Message& request) {
  if (const FieldDescriptor* experiment = FindField(request, "experiment")) {
    const FieldDescriptor* last = FindField(request, "last");
    if (last != nullptr && request.GetReflection()->GetBool(request, last)) {
      return "the newest experiment";
    }
    return absl::StrCat("experiment ", request.GetReflection()->GetUInt64(request, experiment));
  }
  if (const FieldDescriptor* worker = FindField(request, "worker")) {
    return absl::StrCat("worker ", TextOf(request, worker));
  }
  if (const FieldDescriptor* user = FindField(request, "user")) {
    const std::string name = TextOf(request, user);
    return name.empty()
               ? absl::StrCat("quota of label ", TextOf(request, FindField(request, "label")))
               : absl::StrCat("quota of user ", name);
  }
  return "";
}

}  // namespace dt
