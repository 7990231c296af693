// words_fuzz.cc: any bytes as texts that users write and see: sizes, times, selectors, slots, names
// of tokens, a measurement's words, paths of checkpoints, keys, and shown text: refused, or written
// and read back the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "checkpoint/checkpoint.h"
#include "cli/view/top_keys.h"
#include "common/columns.h"
#include "common/ids.h"
#include "common/limits.h"
#include "common/network_bench.h"
#include "common/text.h"
#include "coordinator/access/roles.h"
#include "report/words/format.h"
#include "worker/shell/device.h"

namespace {

void CheckNames(std::string_view text) {
  const auto selector = dt::ParseSelector(text);
  if (selector.ok()) {
    std::string written = selector->last ? "last" : absl::StrCat(selector->experiment);
    if (selector->trial != 0) absl::StrAppend(&written, "/", selector->trial);
    const auto again = dt::ParseSelector(written);
    if (!again.ok() || again->last != selector->last || again->trial != selector->trial ||
        again->experiment != selector->experiment) {
      std::abort();
    }
  }
  const auto token = dt::AttemptToken::FromHex(text);
  if (token.ok() && dt::AttemptToken::FromHex(token->ToHex()) != token) std::abort();
  const auto path = dt::checkpoint::ParseCheckpointPath(text);
  if (path && path->Path() != text) std::abort();
  const auto slot = dt::ParseSlot(text);
  if (slot.ok() && slot->name != text) std::abort();
  const std::vector<dt::Gpu> gpus = {{0, "A", "GPU-1a"}, {1, "B", "GPU-1b"}, {2, "C", ""}};
  const std::vector<dt::Gpu> seen = dt::VisibleGpus(gpus, std::string(text).c_str());
  if (seen.size() > gpus.size()) std::abort();
  for (const dt::Role role : dt::kRoles) dt::CheckTokenName(role, text).IgnoreError();
  const auto caller = dt::CallerOfCertificate({std::string(text), "dtrain://observer/eve"});
  if (!caller || caller->name.empty() || caller->name.size() > dt::limits::kWhoBytes ||
      !dt::IsUtf8(caller->name)) {
    std::abort();
  }
}

void CheckSizesAndTimes(std::string_view text) {
  const auto bytes = dt::ParseBytes(text);
  if (bytes && dt::ParseBytes(absl::StrCat(*bytes)) != bytes) std::abort();
  const auto duration = dt::report::ParseDuration(text);
  if (duration.ok() && *duration < absl::ZeroDuration()) std::abort();
  dt::UnitsDescend(text);
  std::vector<std::string> words = absl::StrSplit(absl::string_view(text.data(), text.size()), ' ');
  words.insert(words.begin(), std::string(dt::kNetworkBenchWord));
  const auto bench = dt::ParseNetworkBench(words);
  if (!bench.ok()) return;
  const auto written = dt::WordsOf(*bench);
  const auto again = dt::ParseNetworkBench(written);
  if (!again.ok() || dt::WordsOf(*again) != written) std::abort();
}

void CheckShown(std::string_view text) {
  constexpr size_t kBytes = 20;
  constexpr int kColumns = 10;
  const std::string clean = dt::CleanText(text, kBytes);
  if (clean.size() > kBytes || !dt::IsUtf8(clean)) std::abort();
  const std::string shown = dt::Printable(text);
  for (const char c : shown) {
    if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)) std::abort();
  }
  if (!dt::IsUtf8(shown)) std::abort();
  if (dt::DisplayWidth(dt::Truncate(shown, kColumns)) > kColumns) std::abort();
  if (dt::PercentEncodedBytes(text) < text.size()) std::abort();
  std::string typed(text);
  for (const dt::cli::Key& key : dt::cli::TakeKeys(typed, dt::cli::MoreInput::kNone)) {
    if (!dt::IsUtf8(key.text)) std::abort();
  }
  if (!typed.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckNames(text);
  CheckSizesAndTimes(text);
  CheckShown(text);
  return 0;
}
