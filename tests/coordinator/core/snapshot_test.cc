// snapshot_test.cc: a snapshot gives back the same state, field by field.
#include "coordinator/core/facts/snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordinator/core/facts/fields.h"
#include "coordinator/core/facts/hash.h"

namespace dt {
namespace {

// Gives every member a different value, so that a lost or confused one changes the hash.
class Filler {
 public:
  void operator()(const auto&, auto& value) { Fill(value); }
  void Unhashed(const auto&, auto& value) { Fill(value); }
  void HashedIfSet(const auto&, auto& value) { Fill(value); }
  void Flat(auto& value) { VisitFields(*this, value); }
  void Flat(auto& value, const auto& rows) { rows(*this, value); }
  void Within(const auto&, auto& value, const auto& rows) { rows(*this, value); }
  template <typename Pair>
  void Columns(std::vector<Pair>& pairs, const auto&, auto first, const auto&, auto second) {
    for (Pair& each : (pairs.resize(2), pairs)) {
      Fill(each.*first);
      Fill(each.*second);
    }
  }
  template <typename Key, typename Value>
  void Map(const auto&, std::map<Key, Value>& map, const auto& rows) {
    for (int i = 0; i < 2; ++i) {
      Key key;
      Value value;
      rows(*this, key, value);
      map.emplace(key, value);
    }
  }
  void Messages(const auto&, auto& map, const auto& key) {
    v1::Notice notice;
    Fill(notice);
    map.emplace(key(notice), notice);
  }
  template <typename Key, typename Value>
  void Parts(const auto&, std::map<Key, Value>& map) {
    for (int i = 0; i < 2; ++i) {
      Value value;
      Fill(value);
      map.emplace(value.id, value);
    }
  }
  void Index(const auto&) {}
  void AfterLoad(auto& value, const auto& complete) { complete(value); }

 private:
  template <typename T>
  void Fill(T& value) {
    if constexpr (HasFields<T>) {
      VisitFields(*this, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = true;
    } else if constexpr (std::is_same_v<T, AttemptState>) {
      value = AttemptState::kEnded;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      value = static_cast<T>(++filled_);
    } else {
      FillMessage(value);
    }
  }
  void Fill(std::string& text) { text = absl::StrCat("text ", ++filled_); }
  void Fill(AttemptToken& token) {
    token = *AttemptToken::FromBytes(absl::StrCat(1'000'000'000'000'000 + ++filled_));
  }
  template <typename T>
  void Fill(std::optional<T>& value) {
    Fill(value.emplace());
  }
  template <typename T>
  void Fill(std::vector<T>& values) {
    values.resize(2);
    for (T& value : values) Fill(value);
  }
  // Sets the texts and the 64-bit numbers of a message.
  void FillMessage(google::protobuf::Message& message) {
    const google::protobuf::Reflection& set = *message.GetReflection();
    for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
      const google::protobuf::FieldDescriptor* field = message.GetDescriptor()->field(i);
      if (field->is_repeated()) continue;
      using Type = google::protobuf::FieldDescriptor;
      if (field->cpp_type() == Type::CPPTYPE_UINT64) set.SetUInt64(&message, field, ++filled_);
      if (field->cpp_type() == Type::CPPTYPE_STRING) {
        set.SetString(&message, field, absl::StrCat("text ", ++filled_));
      }
    }
  }

  uint64_t filled_ = 0;
};

DurableState FullState() {
  DurableState state;
  Filler filler;
  VisitFields(filler, state);
  for (const auto& [id, experiment] : state.experiments) {
    state.request_ids[experiment.request_id] = id;
    for (uint32_t trial = 1; trial <= 2; ++trial) {
      for (uint32_t attempt = 1; attempt <= 2; ++attempt) {
        state.tokens.emplace(experiment.trials[trial - 1].attempts[attempt - 1].token,
                             AttemptId{{id, trial}, attempt});
      }
    }
  }
  for (const auto& [number, notice] : state.notices) ++state.notices_of[notice.url()];
  return state;
}

TEST(SnapshotTest, EveryFieldComesBack) {
  const DurableState state = FullState();
  v1::MetricsMemory metrics;
  metrics.mutable_queue_wait()->set_sum(5);
  const std::vector<std::string> parts = SaveSnapshot(state, metrics);
  const auto loaded = LoadSnapshot(parts);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(HashOf(loaded->state), HashOf(state));
  EXPECT_EQ(loaded->state.request_ids, state.request_ids);
  EXPECT_EQ(loaded->state.tokens, state.tokens);
  EXPECT_EQ(loaded->state.notices_of, state.notices_of);
  EXPECT_EQ(loaded->state.figures.begin()->first, state.figures.begin()->first);
  EXPECT_EQ(loaded->metrics.queue_wait().sum(), 5);
  EXPECT_EQ(SaveSnapshot(loaded->state, metrics), parts) << "fields that the hash leaves out";
}

}  // namespace

// In no unnamed namespace: clang refuses Example::value, which has no definition, of a hidden type.
namespace rows_of_pairs {
struct NumberPair {
  int x = 0;
  int y = 0;
};
struct PairOfPairs {
  NumberPair from;
  NumberPair to;
};
template <typename Visit>
constexpr void Fields(Visit& visit, Of<NumberPair> auto& pair) {
  visit(0, pair.x);
}
template <typename Visit>
constexpr void Fields(Visit& visit, Of<PairOfPairs> auto& both) {
  visit(0, both.from);
  visit(0, both.to);
}

}  // namespace rows_of_pairs

namespace {

TEST(SnapshotTest, AMemberWithoutARowDoesNotCompile) {
  static_assert(!EveryMemberHasARow<rows_of_pairs::NumberPair>());
  static_assert(EveryMemberHasARow<rows_of_pairs::PairOfPairs>());
}

TEST(SnapshotTest, PartsThatAreMissingOrForeignAreRefused) {
  std::vector<std::string> parts = SaveSnapshot(FullState(), {});
  ASSERT_EQ(parts.size(), 3u);
  v1::SnapshotHead later;
  ASSERT_TRUE(later.ParseFromString(parts[0]));
  later.set_version(later.version() + 1);
  EXPECT_EQ(LoadSnapshot({later.SerializeAsString(), parts[1], parts[2]}).status().code(),
            absl::StatusCode::kFailedPrecondition)
      << "a later version's snapshot is no damage";
  EXPECT_EQ(LoadSnapshot({}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadSnapshot({parts[0]}).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadSnapshot({parts[0], parts[1], "\xff\xff"}).status().code(),
            absl::StatusCode::kDataLoss);
  EXPECT_EQ(LoadSnapshot({parts[1], parts[0], parts[2]}).status().code(),
            absl::StatusCode::kDataLoss);
}

}  // namespace
}  // namespace dt
