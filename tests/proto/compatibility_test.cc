// compatibility_test.cc: workers, clients and journals of each release are understood. Each field
// of a release's messages still has its number and type, or its number is reserved; the same holds
// for enum values and methods. VERSION.schema has a line for each; it never changes. 0.1.0 had no
// snapshots.
#include <google/protobuf/descriptor.h>

#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "dtrain/v1/access.pb.h"
#include "dtrain/v1/control.pb.h"
#include "dtrain/v1/fleet.pb.h"
#include "dtrain/v1/record.pb.h"
#include "dtrain/v1/snapshot.pb.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

namespace v1 = ::dtrain::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;

const DescriptorPool& Pool() {
  // The pool knows a file once one of its messages is used.
  v1::WorkerReport::descriptor();
  v1::SubmitRequest::descriptor();
  v1::Record::descriptor();
  v1::SnapshotHead::descriptor();
  v1::AuditEntry::descriptor();
  return *DescriptorPool::generated_pool();
}

std::string ReferredTo(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return std::string(field.message_type()->full_name());
  if (field.enum_type() != nullptr) return std::string(field.enum_type()->full_name());
  return "-";
}

// Returns whether each field of `part` is in `whole`, with the same number and type.
bool IsPartOf(const std::string& part, const std::string& whole) {
  const auto* one = Pool().FindMessageTypeByName(part);
  const auto* other = Pool().FindMessageTypeByName(whole);
  if (one == nullptr || other == nullptr) return false;
  for (int i = 0; i < one->field_count(); ++i) {
    const FieldDescriptor* field = other->FindFieldByNumber(one->field(i)->number());
    if (field == nullptr || field->type() != one->field(i)->type()) return false;
  }
  return true;
}

// Returns "" if the field is unchanged.
std::string FieldChanged(std::istringstream& line) {
  std::string message;
  std::string type;
  std::string many;
  std::string refers;
  std::string name;
  int number = 0;
  line >> message >> number >> type >> many >> refers >> name;
  const auto* known = Pool().FindMessageTypeByName(message);
  if (known == nullptr) return absl::StrCat("message ", message, " is gone");
  const FieldDescriptor* field = known->FindFieldByNumber(number);
  const std::string which = absl::StrCat(message, ".", name, " = ", number);
  if (field == nullptr) {
    return known->IsReservedNumber(number) ? "" : absl::StrCat(which, " is gone and not reserved");
  }
  const std::string is = absl::StrCat(
      field->type_name(), field->is_repeated() ? " repeated " : " one ", ReferredTo(*field));
  const std::string was = absl::StrCat(type, " ", many, " ", refers);
  const bool part = field->message_type() != nullptr && IsPartOf(ReferredTo(*field), refers);
  return is == was || part ? "" : absl::StrCat(which, " was ", was, " and is ", is);
}

std::string ValueChanged(std::istringstream& line) {
  std::string name;
  std::string value;
  int number = 0;
  line >> name >> number >> value;
  const auto* known = Pool().FindEnumTypeByName(name);
  if (known == nullptr) return absl::StrCat("enum ", name, " is gone");
  const auto* is = known->FindValueByNumber(number);
  if (is == nullptr) {
    return known->IsReservedNumber(number)
               ? ""
               : absl::StrCat(name, " ", number, " is gone and not reserved");
  }
  return is->name() == value ? "" : absl::StrCat(name, " ", number, " was ", value);
}

std::string MethodChanged(std::istringstream& line) {
  std::string name;
  std::string input;
  std::string output;
  line >> name >> input >> output;
  const size_t slash = name.find('/');
  const auto* service = Pool().FindServiceByName(name.substr(0, slash));
  const auto* method =
      service == nullptr ? nullptr : service->FindMethodByName(name.substr(slash + 1));
  if (method == nullptr) return absl::StrCat("method ", name, " is gone");
  const bool same =
      method->input_type()->full_name() == input && method->output_type()->full_name() == output;
  return same ? "" : absl::StrCat("method ", name, " takes or answers another message");
}

class CompatibilityTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CompatibilityTest, MessagesAndJournalsOfEachReleaseKeepTheirMeaning) {
  const std::string path = absl::StrCat(SCHEMAS, "/", GetParam(), ".schema");
  std::ifstream schema(path);
  ASSERT_TRUE(schema.is_open()) << path;
  size_t lines = 0;
  for (std::string text; std::getline(schema, text); ++lines) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    EXPECT_EQ(kind == "field"   ? FieldChanged(line)
              : kind == "value" ? ValueChanged(line)
                                : MethodChanged(line),
              "")
        << text;
  }
  EXPECT_GT(lines, 500u);
}

INSTANTIATE_TEST_SUITE_P(Releases, CompatibilityTest, ::testing::Values("0.1.0", "0.2.0"));

}  // namespace
}  // namespace dt
