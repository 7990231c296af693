// rows.h: the rows of fields.h, and the check that every member has one.
//
// A row is one call of a visitor:
//   visit(DT_FIELD(owner, name))        a member; the field of the message has the same name
//   visit(DT_SAVED(name), member)       a member whose field has another name
//   visit.Unhashed(...)                 a member that the hash leaves out
//   visit.HashedIfSet(...)              a text or list that the hash leaves out if it is empty
//   visit.Flat(member)                  a struct; its fields stand in the message of its owner
//   visit.Flat(member, rows)            the same with other rows than its Fields
//   visit.Within(saved, member, rows)   a member whose rows stand in the message of another member
//   visit.Columns(member, ...)          a list of pairs, saved as two lists
//   visit.Map(saved, member, rows)      a map; the rows of an entry show its key and its value
//   visit.Messages(saved, member, key)  a map of messages; `key` returns the key of one
//   visit.Parts(saved, member)          a map of values; each is a part of the snapshot
//   visit.Index(member)                 follows from other members: neither saved nor hashed
//   visit.AfterLoad(value, complete)    no row: completes a value after it was loaded
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

// Accessors of the field `name` of a snapshot's message.
#define DT_SAVED(name)                                                       \
  ::dt::Saved {                                                              \
    [](const auto& message) -> decltype(auto) { return message.name(); },    \
        [](auto& message, const auto& value) { message.set_##name(value); }, \
        [](auto& message) { return message.mutable_##name(); },              \
        [](const auto& message) { return message.has_##name(); }             \
  }
#define DT_FIELD(owner, name) DT_SAVED(name), (owner).name

namespace dt {

template <typename Getter, typename Setter, typename Mutabler, typename Haver>
struct Saved {
  Getter get;
  Setter set;
  Mutabler mutate;  // returns a pointer to a text, a message or a list
  Haver has;        // of messages alone
};
template <typename... Accessors>
Saved(Accessors...) -> Saved<Accessors...>;

// Accepts S and const S: loading writes a value, saving and hashing read it.
template <typename T, typename S>
concept Of = std::same_as<std::remove_const_t<T>, S>;

namespace internal {

struct Anything {
  template <typename T>
  operator T() const;  // never defined: only the compiler asks for it
};

// Counts the members of an aggregate: it takes so many initializers.
template <typename T, typename... Initializers>
consteval size_t CountMembers() {
  if constexpr (requires { T{Initializers{}..., Anything{}}; }) {
    return CountMembers<T, Initializers..., Anything>();
  } else {
    return sizeof...(Initializers);
  }
}

// A value that is declared and never made. Only the compiler looks at the addresses of its members.
template <typename T>
struct Example {
  static T value;
};

}  // namespace internal

// Collects the members that have a row.
class RowCounter {
 public:
  // Counts rows of different members.
  constexpr size_t rows() const { return rows_; }

  constexpr void operator()(const auto&, const auto& member) { Add(&member); }
  constexpr void Unhashed(const auto&, const auto& member) { Add(&member); }
  constexpr void HashedIfSet(const auto&, const auto& member) { Add(&member); }
  constexpr void Flat(const auto& member, const auto&...) { Add(&member); }
  constexpr void Within(const auto&, const auto& member, const auto&) { Add(&member); }
  constexpr void Columns(const auto& member, const auto&...) { Add(&member); }
  constexpr void Map(const auto&, const auto& member, const auto&) { Add(&member); }
  constexpr void Messages(const auto&, const auto& member, const auto&) { Add(&member); }
  constexpr void Parts(const auto&, const auto& member) { Add(&member); }
  constexpr void Index(const auto& member) { Add(&member); }
  constexpr void AfterLoad(const auto&, const auto&) {}

 private:
  constexpr void Add(const void* member) {
    for (size_t i = 0; i < rows_; ++i) {
      if (members_[i] == member) return;
    }
    members_[rows_++] = member;
  }

  std::array<const void*, 64> members_{};
  size_t rows_ = 0;
};

template <typename T>
concept HasFields = requires(RowCounter& visit, T& value) {
  Fields(visit, value);
};

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
template <HasFields T>
consteval bool EveryMemberHasARow() {
  RowCounter counter;
  Fields(counter, internal::Example<T>::value);
  return counter.rows() == internal::CountMembers<T>();
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

// Shows the members of `value` to `visit`.
template <typename Visit, typename T>
void VisitFields(Visit& visit, T& value) {
  static_assert(
      EveryMemberHasARow<std::remove_const_t<T>>(),
      "a member of this struct has no row in its Fields in coordinator/core/facts/fields.h");
  Fields(visit, value);
}

}  // namespace dt
