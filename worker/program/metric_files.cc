// metric_files.cc: see metric_files.h.
#include "worker/program/metric_files.h"

#include <dirent.h>
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

// Entries that the search by a pattern may still look at. glob passes no context to its functions.
thread_local size_t entries_left = 0;

// Finds the pattern's paths, among at most `most` entries of folders.
std::vector<std::string> PathsOf(const std::string& pattern, size_t most) {
  entries_left = most;
  glob_t found{};
  found.gl_opendir = [](const char* path) -> void* {
    return entries_left == 0 ? nullptr : opendir(path);
  };
  found.gl_readdir = [](void* folder) -> dirent* {
    if (entries_left == 0) return nullptr;
    --entries_left;
    return readdir(static_cast<DIR*>(folder));
  };
  found.gl_closedir = [](void* folder) { closedir(static_cast<DIR*>(folder)); };
  found.gl_stat = [](const char* path, struct stat* to) { return stat(path, to); };
  found.gl_lstat = [](const char* path, struct stat* to) { return lstat(path, to); };
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_ALTDIRFUNC, nullptr, &found) == 0) {
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  }
  globfree(&found);
  return paths;
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
  const size_t most = begun_ ? kScanEntries : kFirstEntries;
  if (!pattern_.empty()) {
    for (const std::string& path : PathsOf(pattern_, most)) Follow(path, false, out);
  }
  if (!tree_.empty()) ScanFolder(most, out);
}

void MetricFiles::ScanFolder(size_t most, Taken& out) {
  std::error_code error;
  fs::recursive_directory_iterator entry(tree_, fs::directory_options::skip_permission_denied,
                                         error);
  std::vector<std::string> events;
  for (size_t i = 0; !error && entry != fs::recursive_directory_iterator() && i < most; ++i) {
    if (entry.depth() >= kDepthMost) entry.disable_recursion_pending();
    const std::string name = entry->path().filename().string();
    if (name.find("tfevents") != std::string::npos) events.push_back(entry->path().string());
    entry.increment(error);
  }
  std::sort(events.begin(), events.end());
  for (const std::string& path : events) Follow(path, true, out);
}

// Returns nullopt if the path leads to no regular file. To open another thing could disturb it: a
// FIFO's writer would take this for its reader.
std::optional<MetricFiles::State> MetricFiles::StateAt(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return StateOf(status);
}

MetricFiles::State MetricFiles::StateOf(const struct stat& status) {
  return {status.st_dev, status.st_ino, static_cast<uint64_t>(status.st_size),
          status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

// Opens a regular file. `state` becomes that of the open file.
UniqueFd MetricFiles::Open(const std::string& path, State& state) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return UniqueFd();
  state = StateOf(status);
  return fd;
}

void MetricFiles::Follow(const std::string& path, bool events, Taken& out) {
  if (files_.contains(path) || left_alone_.contains(path)) return;
  if (!begun_) {
    if (events || files_.size() >= limits::kMetricFiles) {
      left_alone_.insert(path);
    } else {
      FollowOld(path);
    }
    return;
  }
  if (new_files_ >= limits::kMetricFiles) {
    if (std::exchange(complained_, true)) return;
    out.complaints.push_back(absl::StrCat(
        "metrics: more than ", limits::kMetricFiles,
        " files are there; the others are left out: ", Printable(CleanText(path, 200))));
    return;
  }
  ++new_files_;
  files_[path].events = events;
}

// Follows a file of rows that an earlier run wrote, from its end.
void MetricFiles::FollowOld(const std::string& path) {
  Followed& file = files_[path];
  std::optional<State> state = StateAt(path);
  if (!state) return;
  const UniqueFd fd = Open(path, *state);
  if (!fd.valid()) return;
  file.seen = *state;
  file.offset = state->size;
  NoteSigns(fd, file);
  const std::string start =
      BytesAt(fd, 0, std::min<uint64_t>(limits::kProgramLineBytes, state->size));
  if (const size_t end = start.find('\n'); end != std::string::npos) {
    file.rows.Take(std::string_view(start).substr(0, end));
  }
}

// Keeps the bytes by which a later turn sees whether the file was written again.
void MetricFiles::NoteSigns(const UniqueFd& fd, Followed& file) {
  const uint64_t sign = std::min<uint64_t>(kSignBytes, file.offset);
  if (file.head.size() < sign) file.head = BytesAt(fd, 0, std::min(sign, file.seen.size));
  file.tail = file.offset <= file.seen.size ? BytesAt(fd, file.offset - sign, sign) : "";
}

bool MetricFiles::WasWrittenAgain(const UniqueFd& fd, const Followed& file, uint64_t size) const {
  if (BytesAt(fd, 0, file.head.size()) != file.head) return true;
  // Writers of events only append. The offset may lie beyond the end, within a large record.
  if (file.events) return false;
  return size < file.offset ||
         BytesAt(fd, file.offset - file.tail.size(), file.tail.size()) != file.tail;
}

void MetricFiles::Catch(const std::string& path, Followed& file, Turn& turn) {
  if (file.left_out) return;
  const std::optional<State> now = StateAt(path);
  if (!now || (turn.last == Last::kNo && !file.behind && *now == file.seen)) return;
  State state;
  const UniqueFd fd = Open(path, state);
  if (!fd.valid()) return;
  const State before = std::exchange(file.seen, state);
  const bool replaced = before.device != state.device || before.inode != state.inode;
  if (replaced || WasWrittenAgain(fd, file, state.size)) {
    file.offset = 0;
    file.head.clear();
    file.tail.clear();
    file.rows = MetricRows();
    file.skip = std::exchange(file.taken, 0);
  }
  file.behind = false;
  if (state.size <= file.offset) return;
  (file.events ? found_events_ : found_rows_) = true;
  const uint64_t there = state.size - file.offset;
  const std::string bytes = BytesAt(fd, file.offset, std::min(turn.left, there));
  turn.left -= bytes.size();
  file.behind = bytes.size() < there;
  // A line that the bound cuts is not the file's last.
  const Last last = file.behind ? Last::kNo : turn.last;
  file.offset +=
      file.events ? TakeEvents(path, bytes, file, turn) : TakeRows(bytes, file, last, turn.out);
  NoteSigns(fd, file);
  if (turn.last == Last::kYes && file.behind && !file.left_out && file.offset < state.size) {
    turn.out.complaints.push_back(absl::StrCat("metrics: ", Printable(CleanText(path, 300)),
                                               ": the last ", state.size - file.offset,
                                               " bytes were not read"));
  }
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
    const bool before = sample->step ? *sample->step < file.newest : file.taken <= file.skip;
    // If the file was not written again, it is the program's own steps that fall.
    if (before && file.skip > 0) continue;
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
                                 Turn& turn) {
  EventRecords read = ReadEventRecords(bytes);
  for (ScalarEvent& event : read.scalars) {
    event.tag = NameOf(path, event.tag);
    turn.events.push_back(std::move(event));
  }
  if (!read.damage.empty()) {
    file.left_out = true;
    turn.out.complaints.push_back(absl::StrCat("metrics: ", Printable(CleanText(path, 300)), ": ",
                                               read.damage, " at byte ", file.offset + read.used,
                                               "; the rest of this file is left out"));
  }
  return read.used;
}

// Passes the events on in the order of their times: several files may be written at once.
void MetricFiles::PassEvents(Turn& turn) {
  std::stable_sort(turn.events.begin(), turn.events.end(),
                   [](const auto& a, const auto& b) { return a.wall_time < b.wall_time; });
  Sample sample;
  const auto pass = [&] {
    std::string text = event_samples_.LineOf(sample);
    if (!text.empty()) turn.out.lines.push_back(std::move(text));
    sample = Sample();
  };
  for (ScalarEvent& event : turn.events) {
    const auto step = static_cast<double>(event.step);
    const bool joins = sample.step == step && sample.values.size() < limits::kMetrics &&
                       std::none_of(sample.values.begin(), sample.values.end(),
                                    [&](const auto& one) { return one.first == event.tag; });
    if (!joins && sample.step) pass();
    sample.step = step;
    sample.values.emplace_back(std::move(event.tag), event.value);
  }
  if (sample.step) pass();
}

MetricFiles::Taken MetricFiles::Take(Last last, Paths paths) {
  Turn turn;
  turn.last = last;
  turn.left = kLastBytes;
  if (paths == Paths::kSearch) Scan(turn.out);
  for (auto& [path, file] : files_) {
    if (last == Last::kNo) turn.left = limits::kMetricReadBytes;
    Catch(path, file, turn);
  }
  PassEvents(turn);
  return std::move(turn.out);
}

MetricFiles::Taken MetricFiles::Read(Paths paths) { return Take(Last::kNo, paths); }

MetricFiles::Taken MetricFiles::Finish() { return Take(Last::kYes, Paths::kSearch); }

}  // namespace dt::program
