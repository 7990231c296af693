// ids.cc: parsing and printing of ids.
#include "common/ids.h"

#include <algorithm>
#include <charconv>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/view.h"

namespace dt {
namespace {

template <typename Int>
bool ParseWhole(std::string_view text, Int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0;
}

}  // namespace

std::string AttemptToken::ToBytes() const { return {bytes.begin(), bytes.end()}; }

std::string AttemptToken::ToHex() const { return absl::BytesToHexString(ToBytes()); }

absl::StatusOr<AttemptToken> AttemptToken::FromBytes(std::string_view bytes) {
  AttemptToken token;
  if (bytes.size() != token.bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("attempt token has ", bytes.size(), " bytes, must have 16"));
  }
  std::copy(bytes.begin(), bytes.end(), token.bytes.begin());
  return token;
}

absl::StatusOr<AttemptToken> AttemptToken::FromHex(std::string_view hex) {
  const bool digits = std::all_of(hex.begin(), hex.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
  if (hex.size() != 32 || !digits) {
    return absl::InvalidArgumentError(
        absl::StrCat("attempt token '", View(hex), "' must be 32 hexadecimal digits"));
  }
  return FromBytes(absl::HexStringToBytes(View(hex)));
}

std::string ToString(TrialId id) { return absl::StrCat(id.experiment, "/", id.trial); }

std::string ToString(const AttemptId& id) {
  return absl::StrCat(ToString(id.trial), "#", id.attempt);
}

absl::StatusOr<Selector> ParseSelector(std::string_view text) {
  Selector selector;
  const size_t slash = text.find('/');
  const std::string_view head = text.substr(0, slash);
  bool good = true;
  if (head == "last") {
    selector.last = true;
  } else {
    good = ParseWhole(head, selector.experiment);
  }
  if (slash != std::string_view::npos) {
    good = good && ParseWhole(text.substr(slash + 1), selector.trial);
  }
  if (!good) {
    // The text is an attempt as it is printed; commands take the trial.
    const std::string_view trial = text.substr(0, text.find('#'));
    if (trial.size() < text.size() && slash < trial.size() && ParseSelector(trial).ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'", View(text), "' is an attempt of a trial; write ", View(trial)));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "'", View(text), "' names no experiment or trial; write 12, 12/3, last or last/3"));
  }
  return selector;
}

}  // namespace dt
