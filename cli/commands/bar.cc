// bar.cc: see bar.h.
#include "cli/commands/bar.h"

#include <algorithm>
#include <ostream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/view/table.h"
#include "cli/view/words.h"
#include "common/text.h"

namespace dt::cli {
namespace {

// Interval of redraws: often enough to look alive, rare enough to cost nothing.
constexpr absl::Duration kRedraw = absl::Milliseconds(100);
constexpr int kCells = 24;

}  // namespace

ProgressBar::ProgressBar(Session& session)
    : terminal_(session.terminal()),
      shown_(terminal_.err_is_tty && terminal_.environment("TERM") != "dumb" &&
             !session.options().quiet),
      started_(absl::Now()) {}

ProgressBar::~ProgressBar() {
  if (drawn_) *terminal_.err << "\r\x1b[K" << std::flush;
}

void ProgressBar::Show(const std::function<std::string(double)>& text) {
  const absl::Time now = absl::Now();
  if (!shown_ || now < next_) return;
  next_ = now + kRedraw;
  drawn_ = true;
  *terminal_.err << "\r"
                 << Truncate(text(absl::ToDoubleSeconds(now - started_)),
                             terminal_.size().columns - 1)
                 << "\x1b[K" << std::flush;
}

std::string BytesBar(double bytes_done, double bytes, double bytes_before, double seconds) {
  const double done = bytes <= 0 ? 1 : bytes_done / bytes;
  const int cells = static_cast<int>(std::clamp(done, 0.0, 1.0) * kCells);
  std::string bar = absl::StrCat("[", std::string(cells, '#'), std::string(kCells - cells, '-'),
                                 "] ", PadLeft(FormatRatio(done), 4), "  ", FormatBytes(bytes_done),
                                 " of ", FormatBytes(bytes));
  const double mine = bytes_done - bytes_before;
  if (mine > 0 && seconds > 0) {
    const double rate = mine / seconds;
    absl::StrAppend(&bar, "  ", FormatBytes(rate), "/s  ",
                    FormatDuration((bytes - bytes_done) / rate), " left");
  }
  return bar;
}

}  // namespace dt::cli
