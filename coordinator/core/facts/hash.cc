#include "coordinator/core/facts/hash.h"

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "common/check.h"
#include "common/sha256.h"
#include "coordinator/core/facts/fields.h"

namespace dt {
namespace {

class Digest {
 public:
  Digest& Add(uint64_t value) {
    uint8_t bytes[8];
    for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
    hash_.Update(bytes, sizeof(bytes));
    return *this;
  }
  // Adds the length too, so that neighbouring texts cannot be confused.
  Digest& Add(std::string_view text) {
    Add(text.size());
    hash_.Update(text);
    return *this;
  }
  Digest& Add(double value) { return Add(std::bit_cast<uint64_t>(value)); }
  std::string TakeHex() { return hash_.FinishHex(); }

 private:
  Sha256 hash_;
};

// Adds the member of each row.
class Hasher {
 public:
  explicit Hasher(Digest& digest) : digest_(digest) {}

  template <typename T>
  void operator()(const auto&, const T& value) {
    Add(value);
  }
  void Unhashed(const auto&, const auto&) {}
  void HashedIfSet(const auto&, const auto& value) {
    if (!value.empty()) Add(value);
  }
  void Flat(const auto& value) { VisitFields(*this, value); }
  void Flat(const auto& value, const auto& rows) { rows(*this, value); }
  void Within(const auto&, const auto& value, const auto& rows) { rows(*this, value); }
  template <typename Pair>
  void Columns(const std::vector<Pair>& pairs, const auto&, auto first, const auto&, auto second) {
    static_assert(internal::CountMembers<Pair>() == 2);
    Add(pairs.size());
    for (const Pair& each : pairs) {
      Add(each.*first);
      Add(each.*second);
    }
  }
  void Map(const auto&, const auto& map, const auto& rows) {
    Add(map.size());
    for (const auto& [key, value] : map) rows(*this, key, value);
  }
  void Messages(const auto& saved, const auto& map, const auto&) { Parts(saved, map); }
  void Parts(const auto&, const auto& map) {
    Add(map.size());
    for (const auto& [key, value] : map) Add(value);
  }
  void Index(const auto&) {}
  void AfterLoad(const auto&, const auto&) {}

 private:
  template <typename T>
  void Add(const T& value) {
    if constexpr (HasFields<T>) {
      VisitFields(*this, value);
    } else if constexpr (std::is_base_of_v<google::protobuf::MessageLite, T>) {
      digest_.Add(value.SerializeAsString());
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      digest_.Add(static_cast<uint64_t>(value));
    } else {
      digest_.Add(value);  // a text or a double
    }
  }
  void Add(const AttemptToken& token) { digest_.Add(token.ToBytes()); }
  template <typename T>
  void Add(const std::optional<T>& value) {
    digest_.Add(value.has_value() ? value->SerializeAsString() : std::string());
  }
  template <typename T>
  void Add(const std::vector<T>& values) {
    Add(values.size());
    for (const T& value : values) Add(value);
  }

  Digest& digest_;
};

}  // namespace

std::string HashOf(const DurableState& state) {
  Digest digest;
  Hasher hasher(digest);
  VisitFields(hasher, state);
  return digest.TakeHex();
}

AttemptToken MakeToken(const std::array<uint64_t, 2>& entropy, const AttemptId& id) {
  Digest digest;
  digest.Add(entropy[0]).Add(entropy[1]);
  digest.Add(id.trial.experiment).Add(uint64_t{id.trial.trial}).Add(uint64_t{id.attempt});
  const auto token = AttemptToken::FromHex(digest.TakeHex().substr(0, 32));
  DT_CHECK(token.ok());
  return *token;
}

}  // namespace dt
