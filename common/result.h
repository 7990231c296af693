// result.h: a value or the reason why there is none, for the rooms that build without Abseil:
// corpus/ and worker/trainer/.
//
// Errors: ErrorKind says what the caller should do next; the message names the thing, the value,
//         the limit and the fix. Programmer errors are DT_CHECK, never an Error.
// Tests:  tests/corpus/result_test.cc
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "common/check.h"

namespace dt {

enum class ErrorKind {
  kConfig,       // the specification or the command line is wrong; trying again changes nothing
  kData,         // an input file is absent, malformed or not what was promised
  kDamaged,      // an artefact of our own failed verification; an older one may be good
  kIo,           // the system failed (disk full, I/O error); trying again may help
  kOutOfMemory,  // the device or the limit is too small for this configuration
  kNonFinite,    // NaN or infinity in loss or gradients
  kCollective,   // a peer died or a collective timed out: a symptom
  kCancelled,    // someone asked to stop
};

struct Error {
  ErrorKind kind = ErrorKind::kIo;
  std::string message;

  // The same error with what was being done in front: "reading a.bin: …".
  Error Within(const std::string& context) && {
    return Error{kind, context + ": " + std::move(message)};
  }
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return state_.index() == 0; }
  // REQUIRES: ok().
  T& operator*() & { return Value(); }
  const T& operator*() const& { return const_cast<Result*>(this)->Value(); }
  T&& operator*() && { return std::move(Value()); }
  T* operator->() { return &Value(); }
  const T* operator->() const { return &const_cast<Result*>(this)->Value(); }
  // REQUIRES: !ok().
  const Error& error() const& { return const_cast<Result*>(this)->Failure(); }
  Error&& error() && { return std::move(Failure()); }

 private:
  T& Value() {
    DT_CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  Error& Failure() {
    DT_CHECK(!ok());
    return *std::get_if<1>(&state_);
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool ok() const { return !error_.has_value(); }
  // REQUIRES: !ok().
  const Error& error() const& {
    DT_CHECK(!ok());
    return *error_;
  }
  Error&& error() && {
    DT_CHECK(!ok());
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

}  // namespace dt

#define DT_TRY_CONCAT_INNER(a, b) a##b
#define DT_TRY_CONCAT(a, b) DT_TRY_CONCAT_INNER(a, b)

// Returns from the enclosing function, which returns a Result, when `expression` failed.
#define DT_TRY(expression)                                \
  do {                                                    \
    if (auto dt_result = (expression); !dt_result.ok()) { \
      return std::move(dt_result).error();                \
    }                                                     \
  } while (false)

// Declares or assigns `target` from a Result, or returns its error.
#define DT_TRY_ASSIGN(target, expression) \
  DT_TRY_ASSIGN_IMPL(DT_TRY_CONCAT(dt_result_, __LINE__), target, expression)
#define DT_TRY_ASSIGN_IMPL(holder, target, expression) \
  auto holder = (expression);                          \
  if (!holder.ok()) return std::move(holder).error();  \
  target = *std::move(holder)
