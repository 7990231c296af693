// worker_level_test.cc: each field that a worker may be sent has a level, so that its author must
// decide whether a worker has to know it. worker_level.fields has a line for each: its message,
// number and name, and the first level that knows it.
#include "common/worker_level.h"

#include <google/protobuf/descriptor.h>

#include <fstream>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "dtrain/v1/fleet.pb.h"
#include "gtest/gtest.h"

namespace dt {
namespace {

using google::protobuf::Descriptor;

// Collects the fields of a message and of the messages inside it: "dtrain.v1.Orders 3 attempt".
void Collect(const Descriptor& message, std::set<std::string>& fields) {
  for (int i = 0; i < message.field_count(); ++i) {
    const auto& field = *message.field(i);
    const bool added = fields
                           .insert(absl::StrCat(std::string(message.full_name()), " ",
                                                field.number(), " ", std::string(field.name())))
                           .second;
    if (added && field.message_type() != nullptr) Collect(*field.message_type(), fields);
  }
}

TEST(WorkerLevelTest, EachFieldOfOrdersHasTheLevelThatKnowsIt) {
  std::map<std::string, uint32_t> levels;
  std::ifstream file(FIELDS);
  for (std::string message, number, name, level; file >> message >> number >> name >> level;) {
    levels[absl::StrCat(message, " ", number, " ", name)] =
        static_cast<uint32_t>(std::stoul(level));
  }
  std::set<std::string> fields;
  Collect(*::dtrain::v1::Orders::descriptor(), fields);
  EXPECT_GT(fields.size(), 100u);
  for (const std::string& field : fields) {
    EXPECT_TRUE(levels.contains(field))
        << field << " has no line in " << FIELDS << ". Where a worker that does not know it would "
        << "train something else: raise kWorkerLevel, and give it that level. Else give it "
        << kWorkerLevel << ".";
  }
  for (const auto& [field, level] : levels) EXPECT_LE(level, kWorkerLevel) << field;
}

}  // namespace
}  // namespace dt
