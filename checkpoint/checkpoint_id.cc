// checkpoint_id.cc: see checkpoint_id.h.
#include "checkpoint/checkpoint_id.h"

#include <charconv>
#include <system_error>

namespace dt::checkpoint {
namespace {

// Reads decimal digits up to the next '/' or the end, without leading zeros.
template <typename T>
bool TakeNumber(std::string_view& text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto length = static_cast<size_t>(end - text.data());
  if (error != std::errc() || (text[0] == '0' && length > 1)) return false;
  text.remove_prefix(length);
  return true;
}
bool Take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

std::string CheckpointId::Path() const {
  return std::to_string(trial.experiment) + "/" + std::to_string(trial.trial) + "/a" +
         std::to_string(attempt) + "/step-" + std::to_string(step);
}

std::optional<CheckpointId> ParseCheckpointPath(std::string_view path) {
  CheckpointId id;
  if (TakeNumber(path, id.trial.experiment) && Take(path, "/") &&
      TakeNumber(path, id.trial.trial) && Take(path, "/a") && TakeNumber(path, id.attempt) &&
      Take(path, "/step-") && TakeNumber(path, id.step) && path.empty()) {
    return id;
  }
  return std::nullopt;
}

}  // namespace dt::checkpoint
