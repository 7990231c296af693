// bar.h: one line on stderr that is rewritten in place, only where a person watches.
#pragma once

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "cli/remote/session.h"

namespace dt::cli {

class ProgressBar {
 public:
  explicit ProgressBar(Session& session);
  ~ProgressBar();  // wipes it
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `text` is asked for only when it is time to draw; it gets the seconds since the start.
  void Show(const std::function<std::string(double)>& text);

 private:
  const Terminal& terminal_;
  const bool shown_;
  const absl::Time started_;
  bool drawn_ = false;
  absl::Time next_ = absl::InfinitePast();
};

// "[#####-----]  50%  1.5 GiB of 3.0 GiB  60 MiB/s  25 s left": of `bytes_done`, `bytes_before`
// were there at the start.
std::string BytesBar(double bytes_done, double bytes, double bytes_before, double seconds);

}  // namespace dt::cli
