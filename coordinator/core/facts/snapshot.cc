// snapshot.cc: saves and loads by the rows of fields.h.
#include "coordinator/core/facts/snapshot.h"

#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/mutant.h"
#include "common/status.h"
#include "coordinator/core/facts/fields.h"
#include "spec/objectives.h"

namespace dt {
namespace {

template <typename T, typename Message>
void Save(const T& value, Message& message);
template <typename T, typename Message>
bool Load(Message& message, T& value);

// Writes the member of each row to `message`.
template <typename Message>
class Saver {
 public:
  explicit Saver(Message& message) : message_(message) {}

  template <typename T>
  void operator()(const auto& saved, const T& value) {
    if constexpr (HasFields<T>) {
      Save(value, *saved.mutate(message_));
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      using Field = std::remove_cvref_t<decltype(saved.get(message_))>;
      static_assert(sizeof(Field) >= sizeof(T), "the field of the message is too small");
      saved.set(message_, static_cast<Field>(value));
    } else {
      *saved.mutate(message_) = value;  // a text or a message
    }
  }
  void operator()(const auto& saved, const AttemptToken& token) {
    saved.set(message_, token.ToBytes());
  }
  template <typename T>
  void operator()(const auto& saved, const std::optional<T>& value) {
    if (value.has_value()) *saved.mutate(message_) = *value;
  }
  template <typename T>
  void operator()(const auto& saved, const std::vector<T>& values) {
    for (const T& value : values) Append(value, *saved.mutate(message_));
  }
  void Unhashed(const auto& saved, const auto& value) { (*this)(saved, value); }
  void HashedIfSet(const auto& saved, const auto& value) { (*this)(saved, value); }
  void Flat(const auto& value) { VisitFields(*this, value); }
  void Flat(const auto& value, const auto& rows) { rows(*this, value); }
  void Within(const auto& saved, const auto& value, const auto& rows) {
    Saver<std::remove_pointer_t<decltype(saved.mutate(message_))>> saver(*saved.mutate(message_));
    rows(saver, value);
  }
  template <typename Pair>
  void Columns(const std::vector<Pair>& pairs, const auto& saved, auto first, const auto& saved_too,
               auto second) {
    for (const Pair& each : pairs) {
      Append(each.*first, *saved.mutate(message_));
      Append(each.*second, *saved_too.mutate(message_));
    }
  }
  void Map(const auto& saved, const auto& map, const auto& rows) {
    for (const auto& [key, value] : map) {
      Saver<std::remove_pointer_t<decltype(saved.mutate(message_)->Add())>> saver(
          *saved.mutate(message_)->Add());
      rows(saver, key, value);
    }
  }
  void Messages(const auto& saved, const auto& map, const auto&) {
    for (const auto& [key, value] : map) *saved.mutate(message_)->Add() = value;
  }
  void Parts(const auto& saved, const auto& map) { saved.set(message_, map.size()); }
  void Index(const auto&) {}
  void AfterLoad(const auto&, const auto&) {}

 private:
  template <typename T>
  static void Append(const T& value, auto& list) {
    if constexpr (HasFields<T>) {
      Save(value, *list.Add());
    } else if constexpr (std::is_arithmetic_v<T>) {
      list.Add(value);
    } else {
      *list.Add() = value;
    }
  }

  Message& message_;
};

template <typename T, typename Message>
void Save(const T& value, Message& message) {
  Saver<Message> saver(message);
  VisitFields(saver, value);
  if constexpr (std::is_same_v<T, Attempt>) {
    if (Mutated(Mutant::kSnapshotWithoutEnd)) message.clear_cause();
  }
}

// Reads the member of each row from `message`. Moves texts and messages out of it.
template <typename Message>
class Loader {
 public:
  explicit Loader(Message& message) : message_(message) {}

  // Returns false if a token or a state cannot be read.
  bool ok() const { return ok_; }

  template <typename T>
  void operator()(const auto& saved, T& value) {
    if constexpr (HasFields<T>) {
      if (saved.has(message_)) Take(*saved.mutate(message_), value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      value = static_cast<T>(saved.get(message_));
    } else {
      value = std::move(*saved.mutate(message_));
    }
  }
  void operator()(const auto& saved, AttemptToken& token) {
    const auto read = AttemptToken::FromBytes(saved.get(message_));
    ok_ = ok_ && read.ok();
    if (read.ok()) token = *read;
  }
  void operator()(const auto& saved, AttemptState& state) {
    const auto read = saved.get(message_);
    ok_ = ok_ && read <= static_cast<uint32_t>(AttemptState::kEnded);
    state = static_cast<AttemptState>(read);
  }
  template <typename T>
  void operator()(const auto& saved, std::optional<T>& value) {
    if (saved.has(message_)) value = std::move(*saved.mutate(message_));
  }
  template <typename T>
  void operator()(const auto& saved, std::vector<T>& values) {
    auto& list = *saved.mutate(message_);
    values.reserve(static_cast<size_t>(list.size()));
    for (auto& each : list) Take(each, values.emplace_back());
  }
  void Unhashed(const auto& saved, auto& value) { (*this)(saved, value); }
  void HashedIfSet(const auto& saved, auto& value) { (*this)(saved, value); }
  void Flat(auto& value) { VisitFields(*this, value); }
  void Flat(auto& value, const auto& rows) { rows(*this, value); }
  void Within(const auto& saved, auto& value, const auto& rows) {
    if (saved.has(message_)) TakeRows(*saved.mutate(message_), rows, value);
  }
  // The first list has the number of pairs. A value that the second one lacks is left as it is.
  template <typename Pair>
  void Columns(std::vector<Pair>& pairs, const auto& saved, auto first, const auto& saved_too,
               auto second) {
    auto& firsts = *saved.mutate(message_);
    auto& seconds = *saved_too.mutate(message_);
    for (int i = 0; i < firsts.size(); ++i) {
      Pair& pair = pairs.emplace_back();
      Take(firsts[i], pair.*first);
      if (i < seconds.size()) Take(seconds[i], pair.*second);
    }
  }
  template <typename Key, typename Value>
  void Map(const auto& saved, std::map<Key, Value>& map, const auto& rows) {
    for (auto& entry : *saved.mutate(message_)) {
      Key key;
      Value value;
      TakeRows(entry, rows, key, value);
      map.insert_or_assign(std::move(key), std::move(value));
    }
  }
  void Messages(const auto& saved, auto& map, const auto& key) {
    for (auto& each : *saved.mutate(message_)) map.emplace(key(each), std::move(each));
  }
  void Parts(const auto&, const auto&) {}  // LoadSnapshot reads them
  void Index(const auto&) {}
  void AfterLoad(auto& value, const auto& complete) { complete(value); }

 private:
  template <typename T>
  void Take(auto& from, T& value) {
    if constexpr (HasFields<T>) {
      ok_ = Load(from, value) && ok_;
    } else {
      value = std::move(from);
    }
  }
  template <typename From, typename... T>
  void TakeRows(From& from, const auto& rows, T&... values) {
    Loader<From> loader(from);
    rows(loader, values...);
    ok_ = ok_ && loader.ok();
  }

  Message& message_;
  bool ok_ = true;
};

template <typename T, typename Message>
bool Load(Message& message, T& value) {
  Loader<Message> loader(message);
  VisitFields(loader, value);
  return loader.ok();
}

// Rebuilds the indices that Apply keeps beside the state.
void Index(DurableState& state) {
  for (auto& [id, experiment] : state.experiments) {
    experiment.watches = spec::WatchesOf(experiment.spec.search());
    if (!experiment.request_id.empty()) state.request_ids[experiment.request_id] = id;
    for (uint32_t trial = 1; trial <= experiment.trials.size(); ++trial) {
      const std::vector<Attempt>& attempts = experiment.trials[trial - 1].attempts;
      for (uint32_t number = 1; number <= attempts.size(); ++number) {
        state.tokens.emplace(attempts[number - 1].token, AttemptId{{id, trial}, number});
      }
    }
  }
  for (const auto& [number, notice] : state.notices) ++state.notices_of[notice.url()];
}

// Version of the format. A program silently drops unknown fields: a field that it must know raises
// this.
constexpr uint32_t kSnapshotVersion = 6;

}  // namespace

std::vector<std::string> SaveSnapshot(const DurableState& state, const v1::MetricsMemory& metrics) {
  v1::SnapshotHead head;
  head.set_version(kSnapshotVersion);
  *head.mutable_metrics() = metrics;
  Save(state, head);
  std::vector<std::string> parts;
  parts.push_back(head.SerializeAsString());
  for (const auto& [id, experiment] : state.experiments) {
    v1::SnapshotExperiment saved;
    Save(experiment, saved);
    parts.push_back(saved.SerializeAsString());
  }
  return parts;
}

absl::StatusOr<LoadedSnapshot> LoadSnapshot(const std::vector<std::string>& parts) {
  v1::SnapshotHead head;
  if (parts.empty() || !head.ParseFromString(parts[0]) || head.journal_id() == 0 ||
      head.experiments() != parts.size() - 1) {
    return absl::DataLossError("the snapshot has no head that fits its parts");
  }
  if (head.version() > kSnapshotVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the snapshot has version ", head.version(), "; this program reads up to ",
                     kSnapshotVersion, ": run the dtcoord that wrote it, or a later one"));
  }
  LoadedSnapshot loaded;
  loaded.metrics = std::move(*head.mutable_metrics());
  bool ok = Load(head, loaded.state);
  for (size_t part = 1; part < parts.size(); ++part) {
    v1::SnapshotExperiment saved;
    if (!saved.ParseFromString(parts[part]) || saved.id() == 0) {
      return absl::DataLossError(absl::StrCat("part ", part, " of the snapshot cannot be read"));
    }
    ok = Load(saved, loaded.state.experiments[saved.id()]) && ok;
  }
  if (!ok) {
    return absl::DataLossError("the snapshot has an attempt without a token or a known state");
  }
  Index(loaded.state);
  return loaded;
}

}  // namespace dt
