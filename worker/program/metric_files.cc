// metric_files.cc: see metric_files.h.
#include "worker/program/metric_files.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/limits.h"
#include "common/metric_limits.h"
#include "common/text.h"

namespace dt::program {
namespace {

namespace fs = std::filesystem;

constexpr int kDepthMost = 5;
constexpr size_t kSignBytes = 64;
// Bytes of a file that are read after the program's end.
constexpr size_t kLastBytes = 16 << 20;

std::string Below(const std::string& folder, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  return absl::StrCat(folder, "/", path);
}

// Escapes a folder's name, so that only the person's part is a pattern.
std::string Escaped(const std::string& folder, const std::string& path) {
  if (path.empty() || path.front() == '/') return path;
  std::string escaped;
  for (const char c : folder) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return absl::StrCat(escaped, "/", path);
}

std::string BytesAt(const UniqueFd& fd, uint64_t offset, size_t most) {
  std::string bytes(most, '\0');
  size_t got = 0;
  while (got < most) {
    const ssize_t some =
        pread(fd.get(), bytes.data() + got, most - got, static_cast<off_t>(offset + got));
    if (some < 0 && errno == EINTR) continue;
    if (some <= 0) break;
    got += static_cast<size_t>(some);
  }
  bytes.resize(got);
  return bytes;
}

// Keras and others write the same tags into a folder of each purpose.
std::string NameOf(const std::string& path, const std::string& tag) {
  const std::string folder = fs::path(path).parent_path().filename().string();
  for (const char* purpose : {"train", "validation", "val", "valid", "test", "eval"}) {
    if (folder == purpose) return absl::StrCat(folder, "/", tag);
  }
  return tag;
}

}  // namespace

MetricFiles::MetricFiles(const std::string& folder, const MetricPaths& paths, uint64_t resumed_step)
    : pattern_(Escaped(folder, paths.file)),
      tree_(Below(folder, paths.tensorboard)),
      row_samples_(resumed_step, Samples::Fall::kKeep),
      event_samples_(resumed_step, Samples::Fall::kLift) {
  Taken nothing;
  Scan(nothing);
  begun_ = true;
}

void MetricFiles::Scan(Taken& out) {
  if (!pattern_.empty()) {
    glob_t found{};
    if (glob(pattern_.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) Follow(found.gl_pathv[i], false, out);
    }
    globfree(&found);
  }
  if (!tree_.empty()) ScanFolder(out);
}

void MetricFiles::ScanFolder(Taken& out) {
  std::error_code error;
  fs::recursive_directory_iterator entry(tree_, fs::directory_options::skip_permission_denied,
                                         error);
  std::vector<std::string> events;
  for (size_t i = 0; !error && entry != fs::recursive_directory_iterator() && i < kScanEntries;
       ++i) {
    if (entry.depth() >= kDepthMost) entry.disable_recursion_pending();
    const std::string name = entry->path().filename().string();
    if (name.find("tfevents") != std::string::npos) events.push_back(entry->path().string());
    entry.increment(error);
  }
  std::sort(events.begin(), events.end());
  for (const std::string& path : events) Follow(path, true, out);
}

void MetricFiles::Follow(const std::string& path, bool events, Taken& out) {
  if (files_.contains(path)) return;
  if (files_.size() >= limits::kMetricFiles) {
    if (std::exchange(complained_, true)) return;
    out.complaints.push_back(absl::StrCat(
        "metrics: more than ", limits::kMetricFiles,
        " files are there; the others are left out: ", Printable(CleanText(path, 200))));
    return;
  }
  Followed& file = files_[path];
  file.events = events;
  if (begun_) return;
  // An earlier run wrote it.
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  file.device = status.st_dev;
  file.inode = status.st_ino;
  file.offset = static_cast<uint64_t>(status.st_size);
  file.head = BytesAt(fd, 0, std::min<uint64_t>(kSignBytes, file.offset));
  const uint64_t sign = std::min<uint64_t>(kSignBytes, file.offset);
  file.tail = BytesAt(fd, file.offset - sign, sign);
  const std::string start = events ? "" : BytesAt(fd, 0, limits::kProgramLineBytes);
  if (const size_t end = start.find('\n'); end != std::string::npos) {
    file.rows.Take(std::string_view(start).substr(0, end));
  }
}

bool MetricFiles::WasWrittenAgain(const UniqueFd& fd, const Followed& file, uint64_t size) const {
  if (BytesAt(fd, 0, file.head.size()) != file.head) return true;
  // Writers of events only append. The offset may lie beyond the end, within a large record.
  if (file.events) return false;
  return size < file.offset ||
         BytesAt(fd, file.offset - file.tail.size(), file.tail.size()) != file.tail;
}

void MetricFiles::Catch(const std::string& path, Followed& file, Last last, Taken& out) {
  if (file.left_out) return;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  const auto size = static_cast<uint64_t>(status.st_size);
  const bool replaced = file.device != status.st_dev || file.inode != status.st_ino;
  if (replaced || WasWrittenAgain(fd, file, size)) {
    file.offset = 0;
    file.head.clear();
    file.tail.clear();
    file.rows = MetricRows();
    file.skip = std::exchange(file.taken, 0);
    file.device = status.st_dev;
    file.inode = status.st_ino;
  }
  if (size <= file.offset) return;
  found_ = true;
  const size_t most = last == Last::kYes ? kLastBytes : limits::kMetricReadBytes;
  const std::string bytes = BytesAt(fd, file.offset, most);
  const uint64_t used =
      file.events ? TakeEvents(path, bytes, file, out) : TakeRows(bytes, file, last, out);
  file.offset += used;
  if (file.head.size() < kSignBytes) {
    file.head = BytesAt(fd, 0, std::min<uint64_t>(kSignBytes, std::min(file.offset, size)));
  }
  const uint64_t sign = std::min<uint64_t>(kSignBytes, file.offset);
  file.tail = file.offset <= size ? BytesAt(fd, file.offset - sign, sign) : "";
}

uint64_t MetricFiles::TakeRows(std::string_view bytes, Followed& file, Last last, Taken& out) {
  size_t start = 0;
  for (;;) {
    size_t end = bytes.find('\n', start);
    if (end == std::string_view::npos) {
      if (last == Last::kNo || start == bytes.size()) break;
      end = bytes.size();
    }
    const std::string_view line = bytes.substr(start, end - start);
    start = std::min(end + 1, bytes.size());
    if (std::exchange(file.overlong, false)) continue;
    const std::optional<Sample> sample = file.rows.Take(line);
    if (!sample) continue;
    ++file.taken;
    if (sample->step ? *sample->step < file.newest : file.taken <= file.skip) {
      // The file was written again, or the program's own steps fall.
      if (file.skip > 0) continue;
    }
    if (sample->step) file.newest = std::max(file.newest, *sample->step);
    std::string text = row_samples_.LineOf(*sample);
    if (!text.empty()) out.lines.push_back(std::move(text));
  }
  if (start == 0 && bytes.size() >= limits::kMetricReadBytes) {
    file.overlong = true;
    return bytes.size();
  }
  return start;
}

uint64_t MetricFiles::TakeEvents(const std::string& path, std::string_view bytes, Followed& file,
                                 Taken& out) {
  EventRecords read = ReadEventRecords(bytes);
  for (ScalarEvent& event : read.scalars) {
    event.tag = NameOf(path, event.tag);
    waiting_.push_back(std::move(event));
  }
  if (!read.damage.empty()) {
    file.left_out = true;
    out.complaints.push_back(absl::StrCat("metrics: ", Printable(CleanText(path, 300)), ": ",
                                          read.damage, " at byte ", file.offset + read.used,
                                          "; the rest of this file is left out"));
  }
  return read.used;
}

// Passes this turn's events on in the order of their times: several files may be written at once.
void MetricFiles::TakeWaiting(Taken& out) {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const auto& a, const auto& b) { return a.wall_time < b.wall_time; });
  Sample sample;
  const auto pass = [&] {
    std::string text = event_samples_.LineOf(sample);
    if (!text.empty()) out.lines.push_back(std::move(text));
    sample = Sample();
  };
  for (ScalarEvent& event : waiting_) {
    const auto step = static_cast<double>(event.step);
    const bool joins = sample.step == step && sample.values.size() < limits::kMetrics &&
                       std::none_of(sample.values.begin(), sample.values.end(),
                                    [&](const auto& one) { return one.first == event.tag; });
    if (!joins && sample.step) pass();
    sample.step = step;
    sample.values.emplace_back(std::move(event.tag), event.value);
  }
  if (sample.step) pass();
  waiting_.clear();
}

MetricFiles::Taken MetricFiles::Turn(Last last) {
  Taken out;
  Scan(out);
  for (auto& [path, file] : files_) Catch(path, file, last, out);
  TakeWaiting(out);
  return out;
}

MetricFiles::Taken MetricFiles::Read() { return Turn(Last::kNo); }

MetricFiles::Taken MetricFiles::Finish() { return Turn(Last::kYes); }

}  // namespace dt::program
