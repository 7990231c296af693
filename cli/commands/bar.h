// bar.h: a progress line on stderr, rewritten in place; only on a terminal.
#pragma once

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "cli/remote/session.h"

namespace dt::cli {

class ProgressBar {
 public:
  explicit ProgressBar(Session& session);
  ~ProgressBar();  // wipes the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws now and then. Calls `text` only when it draws, with the seconds since the start.
  void Show(const std::function<std::string(double)>& text);

 private:
  const Terminal& terminal_;
  const bool shown_;
  const absl::Time started_;
  bool drawn_ = false;
  absl::Time next_ = absl::InfinitePast();
};

// Returns "[#####-----]  50%  1.5 GiB of 3.0 GiB  60 MiB/s  25 s left". `bytes_before` of the
// `bytes_done` existed at the start.
std::string BytesBar(double bytes_done, double bytes, double bytes_before, double seconds);

}  // namespace dt::cli
